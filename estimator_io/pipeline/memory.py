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
from estimator_io.pipeline.cache import cached_in_order
from estimator_io.pipeline.memory_limit import (
    BATCH_SHARE,
    BUFFER_SHARE,
    Limit,
    parse_bytes,
    spell_bytes,
)
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import Request, buffer_size, effective_shuffle
from estimator_io.pipeline.row_size import (
    row_bytes,
    source_row_bytes,
    spec_bytes,
)
from estimator_io.plan.calls import Plan
from estimator_io.sources.base import Source

__all__ = ["describe_memory", "limited", "prefetched", "shuffle_rows", "within_limit"]

# AUTOTUNE decides alone as long as it may prefetch this many batches.
ENOUGH_BATCHES = 64


def within_limit(source: Source, options: Options, request: Request) -> Options:
    """Returns options with a shuffle buffer that stays within the limit.

    Raises:
      OptionError: not even one row, or one row group, fits into its part of the limit.
    """
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
    if not _buffered(source, options):
        return asked  # and measuring a mixture of mixtures would build each of them anew
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
        return size * (rows if cached_in_order(source, options) else source.rows_held(rows))

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
    cached = cached_in_order(source, options)
    return cached or source.rows_held(buffer_size(source, options)) > 0


def _buffered_row_bytes(source: Source, options: Options, *, read: bool) -> int | None:
    if cached_in_order(source, options):
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


def _cache_bytes(
    source: Source, options: Options, shard: tuple[int, int] = (0, 1), *, read: bool = True
) -> int | None:
    """Returns the bytes of all rows of a memory cache, None where they cannot be told."""
    if options.cache != "memory" or source.num_rows is None:
        return None
    size = row_bytes(source, options, read=read)
    return None if size is None else size * len(range(shard[0], source.num_rows, shard[1]))


def limited(options: Options, plan: Plan) -> Plan:
    """Returns `plan` with AUTOTUNE told of a limit that was given."""
    limit = Limit.of(options)
    if not limit.given:
        return plan
    calls = list(plan.calls)
    last = max(at for at, call in enumerate(calls) if call.stage == "options")
    pool = functools.partial(calls[last].args[0], ram_budget=int(limit.share(BATCH_SHARE)))
    calls[last] = dataclasses.replace(calls[last], args=(pool,))
    return Plan(tuple(calls))


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
        held = rows if cached_in_order(source, options) else source.rows_held(rows)
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
