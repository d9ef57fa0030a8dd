"""Where the cache stage stands, and what it is asked for.

A source with random access keeps its order: the store is asked for the same row numbers that would
be read without it. Any other source is stored by the place of a row in the stream, before the
shuffle, whose order would otherwise be kept with the rows.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from estimator_io.ops.rows import alone
from estimator_io.pipeline.located import noting, raw_rows
from estimator_io.pipeline.memory_limit import Limit
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call, Deferred
from estimator_io.plan.parallel import parallel
from estimator_io.sources.base import Order, RandomAccessSource, Source
from estimator_io.store.stage import Caching, Skipping, cache_call, keeps_nothing, open_rows

# Rows under way beside those that worker processes are at.
ROWS_AHEAD = 2

__all__ = ["cache_calls", "cached_in_order", "rows_of_cache", "without_idle_cache"]


def cached_in_order(source: Source, options: Options) -> bool:
    """Whether rows are cached in the order of a stream, and so shuffled and counted behind it."""
    return options.cache is not None and not isinstance(source, RandomAccessSource)


def without_idle_cache(source: Source, options: Options) -> Options:
    """Returns `options` without a cache that would only copy the user's arrays."""
    if options.cache is None or not keeps_nothing(source, options.parse):
        return options
    return dataclasses.replace(options, cache=None)


def cache_calls(
    source: Source,
    options: Options,
    order: Order,
    threads: int,
    *,
    make: Callable[..., Any] | Deferred | None = None,
    batch_size: int | None = None,
    drop_remainder: bool = False,
) -> list[Call]:
    """Returns the call of the cache stage, if there is one.

    Args:
      source: of the rows.
      options: of the pipeline.
      order: of the rows that come from the source.
      threads: of the pipeline.
      make: does what the user's parse function says, where that function runs elsewhere.
      batch_size: rows a batch, where the stage makes the batches too.
      drop_remainder: whether a last partial batch is dropped then.
    """
    if options.cache is None:
        return []
    caching = _caching(source, options, order, threads)
    caching = dataclasses.replace(
        caching, make=make, batch_size=batch_size, drop_remainder=drop_remainder
    )
    return [cache_call(caching, order)]


def rows_of_cache(source: Source, options: Options, order: Order, spec: Any) -> Any:
    """Returns the rows that the cache of a pipeline keeps; None where it cannot be written.

    Args:
      source: of the rows.
      options: of the pipeline.
      order: of the rows that come from the source.
      spec: of the elements that the source and parse make.
    """
    return open_rows(_caching(source, options, order, 1), order, spec)


def _skipping(source: Source, options: Options, order: Order) -> Skipping | None:
    note = noting(source, options)
    if note is None:
        return None
    decode = source.decode
    if source.decode_located is not None:  # a stream's rows are decoded before they have numbers
        decode = None
        if isinstance(source, RandomAccessSource):
            decode = functools.partial(alone, function=source.decode_located)
    return Skipping(
        note=note,
        raw_calls=functools.partial(raw_rows, source, options, order),
        decode=decode,
        key=options.key,
    )


def _caching(source: Source, options: Options, order: Order, threads: int) -> Caching:
    processes = options.processes_of("parse")
    at_once = None if processes is None else processes + ROWS_AHEAD
    return Caching(
        source=source,
        parse=options.parse,
        cache=options.cache,
        fill=options.cache_fill,
        memory_limit=Limit.of(options).cache_room(),
        parallel=parallel(
            options.parallel_calls("parse") or at_once, deterministic=options.deterministic
        ),
        threads=threads,
        skipping=_skipping(source, options, order),
    )
