"""The stages in their one right order, each as the calls that carry it out.

The way of a row: source → shard → shuffle → read → parse → filter → flat_map → cache → augment →
batch → batch_augment → batch_map → prefetch. A cache that can only be read in sequence stands
before the shuffle: behind it, it would freeze one order for all epochs.
"""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
from collections.abc import Callable
from typing import Any

from estimator_io.ops.filters import condition
from estimator_io.ops.order import numbered, positions, repeat_shuffled, with_seed
from estimator_io.pipeline.batching import batch_calls
from estimator_io.pipeline.cache import cache_path
from estimator_io.pipeline.faults import is_silent, naming_faults, stop_at
from estimator_io.pipeline.located import located_batches, located_rows
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.position import after_batch, numbers_from, skip_rows, start_of_source
from estimator_io.plan.calls import Call, Named, Plan
from estimator_io.plan.parallel import default_threads, number_or_autotune, parallel, tf_options
from estimator_io.plan.start import Start
from estimator_io.sources.base import Order, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls

__all__ = ["Request", "plan_pipeline"]

# Rows of the shuffle buffer of a stream, where the user gave no number.
DEFAULT_BUFFER_ROWS = 10_000


@dataclasses.dataclass(frozen=True)
class Request:
    """What one call of an InputFn asks for.

    Attributes:
      mode: "train", "eval" or "infer".
      batch_size: rows a batch; None only where buckets have sizes of their own.
      seed: of orders and augmentation.
      shard: (index, count): the part of the rows that belongs to this worker.
      mode_blind: whether shuffle, epochs and drop_remainder count in every mode.
      passes: returns a counter of the passes begun, for a finite Dataset that is iterated again
        and again; None where each Dataset is read once.
      start: where training goes on; None where it begins with the first row.
    """

    mode: str
    batch_size: int | None
    seed: int
    shard: tuple[int, int] = (0, 1)
    mode_blind: bool = False
    passes: Callable[[str], Named] | None = None
    start: Start | None = None

    @property
    def training(self) -> bool:
        """Whether rows are augmented."""
        return self.mode == "train"

    @property
    def ordered(self) -> bool:
        """Whether rows are shuffled and repeated as the options say, rather than read once."""
        return self.training or self.mode_blind

    def seed_of(self, stage: str) -> int:
        """Returns a seed that differs from stage to stage, and between workers."""
        text = f"{stage}/{self.shard[0]}"
        digest = hashlib.sha256(f"{self.seed}/{text}".encode()).digest()
        return int.from_bytes(digest[:8], "big") >> 2

    def passes_of(self, stage: str) -> Named | None:
        """Returns the pass counter of one stage, where passes are counted."""
        return None if self.passes is None else self.passes(stage)


def plan_pipeline(source: Source, options: Options, request: Request) -> Plan:
    """Returns the calls that build the pipeline of `source` and `options` for `request`."""
    # Rows must be counted to pass over some of them, so what comes in batches is taken apart.
    passes_rows = request.start is not None and not source.starts_anywhere
    if options.located and vectorised(source, options) and request.start is None:
        calls = located_batches(source, options, _order(source, options, request), request)
    elif (
        not options.located
        and vectorised(source, options)
        and not (source.takes_blocks and passes_rows)
    ):
        calls = _whole_batches(source, options, request)
    else:
        calls = [
            *row_calls(source, options, request),
            *_cache(source, options, request),
            *skip_rows("rows", source, options, request.start),
            *_augment("augment", options, request),
            *batch_calls(options, request.batch_size, drop_remainder=_drop(options, request)),
        ]
    return Plan(
        (
            *calls,
            *naming_faults(source, options, request),
            *after_batch(options, request.start),
            *_augment("batch_augment", options, request),
            *_batch_map(options, request),
            Call("prefetch", "prefetch", (number_or_autotune(options.prefetch),)),
            Call(
                "options",
                "apply",
                (tf_options(threads(source, options), deterministic=options.deterministic),),
            ),
        )
    )


def threads(source: Source, options: Options) -> int:
    """Returns the threads of the pipeline's pool: as given, or as what it does asks for."""
    return options.threads or default_threads(waits=source.waits)


def vectorised(source: Source, options: Options) -> bool:
    """Whether no stage works row by row, so that rows can be read and decoded a batch at once."""
    if options.element_stages:
        return False
    return source.decode is None or source.decode_batch is not None


def effective_shuffle(options: Options, request: Request) -> bool:
    """Whether the rows are shuffled: in training, unless the user said no."""
    return request.ordered and options.shuffle is not False


def buffer_size(source: Source, options: Options) -> int:
    """Rows of a shuffle buffer, where one is needed: as given, or enough for every row."""
    if options.shuffle is not None and not isinstance(options.shuffle, bool):
        return int(options.shuffle)
    return source.num_rows or DEFAULT_BUFFER_ROWS


def _order(source: Source, options: Options, request: Request) -> Order:
    cached = options.cache is not None
    seed = 0 if cached and options.cache != "memory" else request.seed_of("shuffle")
    return Order(
        shuffle=effective_shuffle(options, request) and (source.indexed or not cached),
        epochs=1 if cached or not request.ordered else options.epochs,
        seed=seed,
        buffer_size=buffer_size(source, options),
        shard=request.shard,
        passes=None if cached else request.passes_of("shuffle"),
        interleave=options.interleave,
        read_calls=options.parallel_calls("read"),
        start=None if cached else start_of_source(source, options, request.start),
    )


def _drop(options: Options, request: Request) -> bool:
    return options.drop_remainder and request.ordered


def _whole_batches(source: Source, options: Options, request: Request) -> list[Call]:
    order = _order(source, options, request)
    if source.takes_blocks:
        order = dataclasses.replace(order, block=request.batch_size)
        calls = source.calls(order)
        if _drop(options, request):
            calls = _without_remainder(calls)
        return calls
    calls = [*source.calls(order), *skip_rows("read", source, options, request.start)]
    calls += batch_calls(options, request.batch_size, drop_remainder=_drop(options, request))
    if source.decode_batch is not None:
        calls.append(_map("parse", source.decode_batch, options))
    return calls


def _without_remainder(calls: list[Call]) -> list[Call]:
    """Returns `calls` with the last partial batch dropped by the last call that makes batches."""
    last = max(at for at, call in enumerate(calls) if call.method in ("batch", "rebatch"))
    kwargs = {**calls[last].kwargs, "drop_remainder": True}
    calls[last] = dataclasses.replace(calls[last], stage="batch", kwargs=kwargs)
    return calls


def row_calls(source: Source, options: Options, request: Request) -> list[Call]:
    """Returns the deterministic stages that work row by row, from the source to the cache."""
    order = _order(source, options, request)
    return rows_in_order(source, options, order, request.start)


def rows_in_order(
    source: Source, options: Options, order: Order, start: Start | None = None
) -> list[Call]:
    """Returns the stages up to the cache, as `row_calls`, for an order that is known."""
    passing = skip_rows("read", source, options, start)
    if options.located:
        calls = located_rows(source, options, order, passing)
    elif options.cache is not None and is_silent(source, options) and source.tells_rows:
        calls = located_rows(source, options, order, passing, note=stop_at(source))
    else:
        calls = _plain_rows(source, options, order, start)
    if options.filter is not None:
        keep = functools.partial(condition, predicate=options.filter)
        calls.append(Call("filter", "filter", (keep,)))
    if options.flat_map is not None:
        calls.append(Call("flat_map", "flat_map", (options.flat_map,)))
    return calls


def _plain_rows(source: Source, options: Options, order: Order, start: Start | None) -> list[Call]:
    calls = source.calls(order)
    if source.takes_blocks:
        calls.append(Call("read", "unbatch"))
    calls += skip_rows("read", source, options, start)
    if source.decode is not None:
        calls.append(_map("parse", source.decode, options))
    if options.parse is not None:
        calls.append(_map("parse", options.parse, options))
    return calls


def _cache(source: Source, options: Options, request: Request) -> list[Call]:
    if options.cache is None:
        return []
    order = functools.partial(_cached_order, source, options, request)
    calls = [Call("cache", "cache", (cache_path(source, options, order),))]
    if not request.ordered:
        return calls
    epochs = Order(
        shuffle=effective_shuffle(options, request),
        epochs=options.epochs,
        seed=request.seed_of("shuffle"),
        buffer_size=buffer_size(source, options),
        passes=request.passes_of("shuffle"),
        start=request.start,
    )
    if not epochs.shuffle:
        return [*calls, *repeat_calls(epochs)]
    repeat = functools.partial(
        repeat_shuffled,
        epochs=Plan((epoch_numbers(epochs),)),
        buffer_size=epochs.buffer_size,
        seed=epochs.seed,
        # A cache on disk is shared by runs with other seeds, so its order cannot be this run's.
        first_epoch_in_order=source.indexed and options.cache == "memory",
    )
    return [*calls, Call("shuffle", "apply", (repeat,))]


def _cached_order(source: Source, options: Options, request: Request) -> dict[str, Any]:
    order = _order(source, options, request)
    return {"shuffle": order.shuffle, "shard": order.shard, "interleave": order.interleave}


def _augment(stage: str, options: Options, request: Request) -> list[Call]:
    function = getattr(options, stage)
    if function is None or not request.training:
        return []
    return _map_with_seed(stage, function, options, request)


def _batch_map(options: Options, request: Request) -> list[Call]:
    if options.batch_map is None:
        return []
    return _map_with_seed("batch_map", options.batch_map, options, request)


def _map_with_seed(
    stage: str, function: Callable[..., Any], options: Options, request: Request
) -> list[Call]:
    if not takes_seed(function):
        return [_map(stage, function, options)]
    kwargs: dict[str, Any] = {"passes": request.passes_of(stage)}
    if request.start is not None:
        kwargs = {"first": numbers_from(stage, request.start)}
    numbers = Plan((Call(stage, positions, (), kwargs),))
    seeded = functools.partial(with_seed, function=function, seed=request.seed_of(stage))
    return [
        Call(stage, "apply", (functools.partial(numbered, numbers=numbers),)),
        _map(stage, seeded, options),
    ]


def takes_seed(function: Callable[..., Any]) -> bool:
    """Whether `function` has a parameter named seed that is still free."""
    try:
        parameters = inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False
    fixed = function.keywords if isinstance(function, functools.partial) else {}
    return "seed" in parameters and "seed" not in fixed


def _map(stage: str, function: Callable[..., Any], options: Options) -> Call:
    kwargs = parallel(options.parallel_calls(stage), deterministic=options.deterministic)
    return Call(stage, "map", (function,), kwargs)
