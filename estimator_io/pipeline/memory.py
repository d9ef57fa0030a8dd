"""The memory that a pipeline may hold, and what is made smaller or refused to stay within it.

One budget, `memory_limit`, is shared out in fixed parts, so that nothing but the limit and the size
of a row decides how many rows a shuffle buffer holds: that number is part of the order.
"""

from __future__ import annotations

import dataclasses
import functools
import logging
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.ops.memory import held_within
from estimator_io.pipeline.memory_limit import (
    available_memory,
    default_limit,
    parse_bytes,
    spell_bytes,
)
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.row_size import (
    TENSOR_BYTES,
    row_bytes,
    rows_are_alike,
    source_row_bytes,
    spec_bytes,
)
from estimator_io.pipeline.stages import Request, buffer_size, effective_shuffle
from estimator_io.plan.calls import Call, Plan
from estimator_io.sources.base import Source

__all__ = ["describe_memory", "limited", "prefetched", "shuffle_rows", "within_limit"]

BUFFER_SHARE = 0.5
CACHE_SHARE = 0.75
BATCH_SHARE = 0.25
# AUTOTUNE decides alone as long as it may prefetch this many batches.
ENOUGH_BATCHES = 64


@dataclasses.dataclass(frozen=True)
class Limit:
    """The memory that a pipeline may hold.

    Attributes:
      bytes: in all; None where the machine does not tell, and nothing is limited.
      given: whether it was asked for, rather than taken from the machine.
    """

    bytes: int | None
    given: bool

    @classmethod
    def of(cls, options: Options) -> Limit:
        """Returns the limit of a pipeline: as given, or half of the machine or container."""
        given = options.memory_limit
        if given is None:
            return cls(default_limit(), given=False)
        return cls(parse_bytes("memory_limit", given), given=True)

    def share(self, part: float) -> float:
        """Returns the bytes of one part of the budget."""
        return float("inf") if self.bytes is None else self.bytes * part

    def __str__(self) -> str:
        """The amount, and where it comes from."""
        if self.bytes is None:
            return "no limit that is known"
        source = "memory_limit" if self.given else "half of this machine's memory"
        return f"{spell_bytes(self.bytes)} ({source})"


def within_limit(source: Source, options: Options, request: Request) -> Options:
    """Returns options with a shuffle buffer that stays within the limit.

    Raises:
      OptionError: a memory cache is larger than its part of the limit; or not even one row, or one
        row group, fits into that of the shuffle.
    """
    _require_cache_fits(source, options, request)
    if not effective_shuffle(options, request) or not _buffered(source, options):
        return options
    return dataclasses.replace(options, shuffle=shuffle_rows(source, options))


def shuffle_rows(source: Source, options: Options, *, parts: int = 1, read: bool = True) -> int:
    """Returns the rows of the shuffle buffer: as asked for, or fewer that fit.

    What does not fit, or is given in bytes, becomes a power of two, so that a slightly different
    estimate seldom makes another order.

    Args:
      source: the source of the rows.
      options: of the pipeline.
      parts: how many sources share the limit.
      read: whether a few rows may be read to measure them.
    """
    asked = buffer_size(source, options)
    in_bytes = isinstance(options.shuffle, str)
    size = _buffered_row_bytes(source, options, read=read)
    if size is None:
        return asked
    limit = Limit.of(options)
    room = limit.share(BUFFER_SHARE) / parts
    if in_bytes:
        room = min(room, parse_bytes("shuffle", options.shuffle))
        asked = source.num_rows or _power_of_two(room / size)

    def held(rows: int) -> int:
        return size * (rows if options.cache is not None else source.rows_held(rows))

    if held(asked) <= room:
        return asked
    rows = _power_of_two(min(asked, room / size))
    while held(rows) > room:
        if rows == 1:
            raise OptionError(
                f"Not even the smallest part of the rows that can be shuffled fits: it takes about"
                f" {spell_bytes(held(rows))}, and the shuffle may hold {spell_bytes(room)} of"
                f" {limit}. Give shuffle=False, smaller row groups, or a higher memory_limit."
            )
        rows //= 2
    if not in_bytes and read:
        _warn_of_smaller_buffer(source, asked, rows, held(asked), limit)
    return rows


def _buffered(source: Source, options: Options) -> bool:
    """Whether the shuffle holds rows."""
    return options.cache is not None or source.rows_held(buffer_size(source, options)) > 0


def _buffered_row_bytes(source: Source, options: Options, *, read: bool) -> int | None:
    if options.cache == "memory":
        return TENSOR_BYTES  # the buffer holds the tensors of the cache itself
    if options.cache is not None:
        return row_bytes(source, options, read=read)
    return source_row_bytes(source, read=read)


def _power_of_two(number: float) -> int:
    return 1 << max(0, int(number).bit_length() - 1)


def _warn_of_smaller_buffer(
    source: Source, asked: int, rows: int, needed: int, limit: Limit
) -> None:
    if source.measured.setdefault(("warned of a buffer", asked, rows), False):
        return
    source.measured["warned of a buffer", asked, rows] = True
    logging.getLogger("estimator_io").warning(
        "the shuffle buffer holds %s rows in place of %s, which would take about %s: half of %s is"
        " its part. Give a higher memory_limit, or shuffle=%d to say so yourself. The number is"
        " part of the order of the rows.",
        *(f"{rows:,}", f"{asked:,}", spell_bytes(needed), limit, rows),
    )


def _require_cache_fits(source: Source, options: Options, request: Request) -> None:
    needed = _cache_bytes(source, options, request.shard)
    # A filter may leave few rows: what comes through is counted while it is cached.
    if needed is None or options.filter or options.flat_map:
        return
    room, limit = cache_room(options), Limit.of(options)
    if needed <= room:
        return
    raise OptionError(
        f"cache='memory' would take about {spell_bytes(needed)} for {source.num_rows:,} rows, and"
        f" may take {spell_bytes(room)}, of {limit}. Give cache='<folder>', or a higher"
        " memory_limit where the machine has the memory."
    )


def cache_room(options: Options) -> float:
    """Returns the bytes that a memory cache may take: its part, and no more than is free now."""
    limit = Limit.of(options)
    room = limit.share(CACHE_SHARE)
    free = None if limit.given else available_memory()
    return room if free is None else min(room, free * CACHE_SHARE)


def _cache_bytes(
    source: Source, options: Options, shard: tuple[int, int] = (0, 1), *, read: bool = True
) -> int | None:
    """Returns the bytes of all rows of a memory cache, None where they cannot be told."""
    if options.cache != "memory" or source.num_rows is None:
        return None
    size = row_bytes(source, options, read=read)
    return None if size is None else size * len(range(shard[0], source.num_rows, shard[1]))


def limited(source: Source, options: Options, plan: Plan) -> Plan:
    """Returns `plan` with what keeps it within the limit while it runs.

    A memory cache whose size is not known counts the bytes that go into it; AUTOTUNE is told of a
    limit that was given.
    """
    calls = list(plan.calls)
    limit = Limit.of(options)
    if limit.given and calls[-1].stage == "options":
        budget = int(limit.share(BATCH_SHARE))
        pool = functools.partial(calls[-1].args[0], ram_budget=budget)
        calls[-1] = dataclasses.replace(calls[-1], args=(pool,))
    if options.cache != "memory" or limit.bytes is None or _cache_is_known(source, options):
        return Plan(tuple(calls))
    message = (
        # Quotes would be escaped by TensorFlow.
        f"The memory cache holds more than its part of {limit}. Give a folder as cache, or a higher"
        " memory_limit where the machine has the memory."
    )
    watch = functools.partial(
        held_within,
        limit=int(limit.share(CACHE_SHARE)),
        overhead=TENSOR_BYTES,
        message=message,
    )
    at = next(at for at, call in enumerate(calls) if call.method == "cache")
    return Plan((*calls[:at], Call("cache", "apply", (watch,)), *calls[at:]))


def _cache_is_known(source: Source, options: Options) -> bool:
    counted = source.num_rows is not None and not options.flat_map
    return counted and rows_are_alike(source, options)


def prefetched(options: Options, spec: Any, batch_size: int | None) -> Options:
    """Returns options whose prefetched batches stay within the limit.

    Args:
      options: of the pipeline.
      spec: of a batch.
      batch_size: rows a batch.

    Raises:
      OptionError: a single batch is larger than the part that batches have.
    """
    size = spec_bytes(spec, batch_size)
    limit = Limit.of(options)
    room = limit.share(BATCH_SHARE)
    if size is None or (room / size >= ENOUGH_BATCHES and options.prefetch is None):
        return options
    if size > limit.share(2 * BATCH_SHARE):
        raise OptionError(
            f"A batch takes about {spell_bytes(size)}, more than half of {limit}. Give a smaller"
            " batch_size, or a higher memory_limit where the machine has the memory."
        )
    most = max(1, int(room / size))
    if options.prefetch is not None and options.prefetch <= most:
        return options
    return dataclasses.replace(options, prefetch=most)


def describe_memory(source: Source, options: Options) -> str:
    """Returns what the parts of a pipeline take, as far as that is known without reading a row."""
    parts = []
    if options.shuffle is not False and _buffered(source, options):
        rows = shuffle_rows(source, options, read=False)
        size = _buffered_row_bytes(source, options, read=False)
        held = rows if options.cache is not None else source.rows_held(rows)
        parts.append(("shuffle", None if size is None else size * held))
    if options.cache == "memory":
        parts.append(("cache", _cache_bytes(source, options, read=False)))
    if options.batch_size is not None:
        size = row_bytes(source, options, read=False)
        parts.append(("a batch", None if size is None else size * options.batch_size))
    known = [
        f"{name} {'not measured yet' if size is None else 'about ' + spell_bytes(size)}"
        for name, size in parts
    ]
    return ", ".join([*known, f"at most {Limit.of(options)}"])
