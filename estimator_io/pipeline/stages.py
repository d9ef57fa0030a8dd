"""The stages in their one right order, each as the calls that carry it out.

The way of a row: source → shard → shuffle → read → parse → cache → filter → flat_map → augment →
batch → batch_augment → batch_map → prefetch. Rows of a stream are shuffled behind the cache, which
stores them by their place in the stream; rows that have an index are stored under it, so that
their order is the same with a cache and without.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

from estimator_io.ops import attempt
from estimator_io.ops.filters import condition
from estimator_io.ops.order import numbered, positions, repeat_shuffled, with_seed
from estimator_io.pipeline.batching import batch_calls
from estimator_io.pipeline.cache import cache_calls, cached_in_order, without_idle_cache
from estimator_io.pipeline.device import device_calls
from estimator_io.pipeline.located import located_batches, located_rows
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.position import after_batch, numbers_from, skip_rows
from estimator_io.pipeline.python_stages import (
    Form,
    is_python_stage,
    python_row,
    python_stage,
    python_threads,
)
from estimator_io.pipeline.request import (
    Request,
    buffer_size,
    effective_shuffle,
    order_of_rows,
    takes_seed,
)
from estimator_io.pipeline.service import (
    numbered_calls,
    request_inside,
    service_calls,
    source_calls,
)
from estimator_io.plan.calls import Call, Deferred, Plan
from estimator_io.plan.parallel import default_threads, number_or_autotune, parallel, tf_options
from estimator_io.plan.start import Start
from estimator_io.sources.base import Order, RandomAccessSource, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.signature import Signature

__all__ = ["Request", "order_of_rows", "plan_pipeline"]


def plan_pipeline(source: Source, options: Options, request: Request) -> Plan:
    """Returns the calls that build the pipeline of `source` and `options` for `request`."""
    options = without_idle_cache(source, options)
    inside, first = request_inside(options, request), batches_from(options, request)
    return Plan(
        (
            *_up_to_batch(source, options, inside, first),
            *service_calls(options, request, threads(source, options)),
            *_behind_batch(source, options, request),
            Call("prefetch", "prefetch", (number_or_autotune(options.prefetch),)),
            Call(
                "options",
                "apply",
                (tf_options(threads(source, options), deterministic=options.deterministic),),
            ),
            *device_calls(options),
        )
    )


def _up_to_batch(
    source: Source, options: Options, request: Request, first: str | None
) -> list[Call]:
    """Returns the stages up to the batch; from the stage `first` on rows travel in batches."""
    # Rows must be counted to pass over some of them, so what comes in batches is taken apart.
    passes_rows = request.start is not None and not source.starts_anywhere
    whole = vectorised(source, options) or batches_to_python(source, options, first)
    whole = whole and not (source.takes_blocks and passes_rows) and not options.located
    if options.located and _located_by_batch(source, options, request):
        order = order_of_rows(source, options, request)
        return located_batches(source, options, order, request)
    if whole:
        calls = _whole_batches(source, options, request)
        if options.parse is not None:
            calls.append(_python_parse(source, options, Form(takes_blocks=True)))
        first = "parse" if first else None
    elif _stored_batches(source, options, request):
        return row_calls(source, options, request, batches=True)
    else:
        form = _batch_form(options, request) if first == "parse" else Form()
        order = order_of_rows(source, options, request)
        calls = [
            *rows_in_order(source, options, order, request.start, form),
            *_epochs_of_cache(source, options, request),
            *skip_rows("rows", source, options, request.start),
        ]
    form = Form(takes_blocks=True) if first == "parse" else Form()
    form = _batch_form(options, request) if first == "augment" else form
    calls += _augment("augment", source, options, request, form)
    if not whole and first is None:
        drop, splits = _drop(options, request), source.row_splits
        calls += batch_calls(options, request.batch_size, drop_remainder=drop, row_splits=splits)
    return calls


def _located_by_batch(source: Source, options: Options, request: Request) -> bool:
    """Whether rows that know where they stand can be decoded a batch at once."""
    return vectorised(source, options) and source.read_row is None and request.start is None


def _behind_batch(source: Source, options: Options, request: Request) -> list[Call]:
    return [
        *after_batch(options, request.start),
        *_augment("batch_augment", source, options, request, Form(batches=True)),
        *_batch_map(source, options, request),
    ]


def batches_from(options: Options, request: Request) -> str | None:
    """Returns the Python stage that makes batches of its rows, where no stage needs them apart."""
    if options.padding or options.bucket_boundaries or request.batch_size is None:
        return None
    last = "augment" if request.training and options.augment is not None else "parse"
    if not (options.processes_of(last) and _one_shape(options, last)):
        return None
    apart = options.filter or options.flat_map or options.cache or options.located
    if last == "augment" and not apart and options.processes_of("parse"):
        return "parse" if _one_shape(options, "parse") else last
    return None if last == "parse" and apart else last


def _one_shape(options: Options, stage: str) -> bool:
    given = (options.signatures or {}).get(stage)
    return given is None or Signature.of_specs(given).fixed


def batches_to_python(source: Source, options: Options, first: str | None) -> bool:
    """Whether rows can be read and decoded a batch at once, for the Python function of a stage."""
    apart = options.filter or options.flat_map or options.cache
    own_parse = options.parse is not None and first != "parse"
    if first is None or apart or own_parse:
        return False
    return source.takes_blocks or source.decode_batch is not None


def sample_plan(source: Source, options: Options, stage: str, rows: int) -> Plan:
    """Returns the plan of what comes to the Python function of `stage`, for a look at the first.

    Args:
      source: the source of the rows.
      options: of the pipeline.
      stage: the stage.
      rows: rows a batch, at most, for the stages behind the batch.
    """
    size = min(options.batch_size or rows, rows)
    changes: dict[str, Any] = {"cache": None, "service": None, "epochs": 1, "shuffle": False}
    changes |= {"batch_size": size, "bucket_batch_sizes": None, "drop_remainder": False}
    plain = dataclasses.replace(options, **changes)
    request = Request(mode="train", batch_size=size, seed=0)
    if stage == "parse" and plain.located:  # whose rows go to parse inside of other calls
        return _located_sample(source, dataclasses.replace(plain, key=None), request)
    calls = _up_to_batch(source, plain, request, None) + _behind_batch(source, plain, request)
    at = next(at for at, call in enumerate(calls) if is_python_stage(call, stage))
    return Plan(tuple(calls[:at]))


def _located_sample(source: Source, options: Options, request: Request) -> Plan:
    """Returns the plan of the rows that come to parse where rows know where they stand."""
    order = order_of_rows(source, options, request)
    note = _note_nothing if options.skips else None  # the pass itself tells of bad rows
    return Plan(tuple(located_rows(source, options, order, [], parse=None, note=note)))


def _note_nothing(where: int, error: str) -> None:
    del where, error


def threads(source: Source, options: Options) -> int:
    """Returns the threads of the pipeline's pool: as given, or as what it does asks for."""
    return options.threads or default_threads(waits=source.waits) + python_threads(options)


def vectorised(source: Source, options: Options) -> bool:
    """Whether no stage works row by row, so that rows can be read and decoded a batch at once."""
    stages = set(options.element_stages)
    if source.read_row is not None and options.padding is True and options.padding_values is None:
        stages -= {"padding"}  # decode_batch pads with zeros
    if stages:
        return False
    return source.decode is None or source.decode_batch is not None


def _drop(options: Options, request: Request) -> bool:
    return options.drop_remainder and request.ordered


def _whole_batches(source: Source, options: Options, request: Request) -> list[Call]:
    order = order_of_rows(source, options, request)
    if source.takes_blocks and source.read_row is None:
        order = dataclasses.replace(order, block=request.batch_size)
        calls = source_calls(source, order)
        if _drop(options, request):
            calls = _without_remainder(calls)
    else:
        calls = source_calls(source, order)
        if source.takes_blocks:
            calls.append(Call("read", "unbatch"))
        calls += skip_rows("read", source, options, request.start)
        if source.read_row is not None:
            calls.append(_map("read", source.read_row, options))
        drop = _drop(options, request)
        calls += batch_calls(options, request.batch_size, drop_remainder=drop)
    if source.decode_batch is not None:
        calls.append(_map("parse", source.decode_batch, options))
    return calls


def _without_remainder(calls: list[Call]) -> list[Call]:
    """Returns `calls` with the last partial batch dropped by the last call that makes batches."""
    last = max(at for at, call in enumerate(calls) if call.method in ("batch", "rebatch"))
    kwargs = {**calls[last].kwargs, "drop_remainder": True}
    calls[last] = dataclasses.replace(calls[last], stage="batch", kwargs=kwargs)
    return calls


def _stored_batches(source: Source, options: Options, request: Request) -> bool:
    """Whether rows come from a store whose blocks are the batches, as they are."""
    others = {*options.element_stages} - {"parse", "cache"}
    if not request.training:
        others.discard("augment")
    # Rows that may be bad are counted behind the cache, before they are batches.
    alone = options.key is None and not others and not (options.skips and request.start is not None)
    return options.cache is not None and isinstance(source, RandomAccessSource) and alone


def row_calls(
    source: Source, options: Options, request: Request, *, batches: bool = False
) -> list[Call]:
    """Returns the deterministic stages that work row by row; with `batches` those up to batches."""
    order = order_of_rows(source, options, request)
    stored = functools.partial(
        cache_calls,
        batch_size=request.batch_size if batches else None,
        drop_remainder=batches and _drop(options, request),
    )
    return rows_in_order(source, options, order, request.start, stored=stored)


def rows_in_order(
    source: Source,
    options: Options,
    order: Order,
    start: Start | None = None,
    form: Form | None = None,
    stored: Callable[..., list[Call]] = cache_calls,
) -> list[Call]:
    """Returns the stages from the source to flat_map, as `row_calls`, for an order that is known.

    The cache stands before filter and flat_map, so that each row has a number to be stored under.
    A parse function of Python's hands its rows on in `form`.
    """
    if options.located:
        passing = skip_rows("read", source, options, start)
        parse = row_maker(source, options) or options.parse
        calls = located_rows(source, options, order, passing, parse=parse)
    elif options.skips:  # the cache leaves bad rows out, and gives keys
        make = row_maker(source, options)
        calls = located_rows(source, options, order, [], parse=make or options.parse)
        calls += stored(source, options, order, threads(source, options), make=make)
    else:
        calls = _plain_rows(source, options, order, start, form or Form())
        make = row_maker(source, options)
        calls += stored(source, options, order, threads(source, options), make=make)
        if options.key is not None and isinstance(source, RandomAccessSource):
            keys = {"keys": Plan(tuple(source.key_calls(order))), "key": options.key}
            calls.append(Call("key", "apply", (functools.partial(attempt.add_keys, **keys),)))
    if options.filter is not None:
        keep = functools.partial(condition, predicate=options.filter)
        calls.append(Call("filter", "filter", (keep,)))
    if options.flat_map is not None:
        calls.append(Call("flat_map", "flat_map", (options.flat_map,)))
    return calls


def _plain_rows(
    source: Source, options: Options, order: Order, start: Start | None, form: Form
) -> list[Call]:
    calls = source_calls(source, order)
    if source.takes_blocks:
        calls.append(Call("read", "unbatch"))
    calls += skip_rows("read", source, options, start)
    if source.decode is not None:
        calls.append(_map("parse", source.decode, options))
    if options.processes_of("parse"):
        calls.append(_python_parse(source, options, form))
    elif options.parse is not None:
        calls.append(_map("parse", options.parse, options))
    return calls


def _epochs_of_cache(source: Source, options: Options, request: Request) -> list[Call]:
    """Returns the calls that shuffle and repeat rows which were cached in the order of a stream."""
    if not cached_in_order(source, options) or not request.ordered:
        return []
    epochs = Order(
        shuffle=effective_shuffle(options, request),
        epochs=options.epochs,
        seed=request.seed_of("shuffle"),
        buffer_size=buffer_size(source, options),
        passes=request.passes_of("shuffle"),
        start=request.start,
    )
    if not epochs.shuffle:
        return repeat_calls(epochs)
    repeat = functools.partial(
        repeat_shuffled,
        epochs=Plan((epoch_numbers(epochs),)),
        buffer_size=epochs.buffer_size,
        seed=epochs.seed,
    )
    return [Call("shuffle", "apply", (repeat,))]


def _python_parse(source: Source, options: Options, form: Form) -> Call:
    sample = functools.partial(sample_plan, source, options)
    parse: Any = options.parse
    return python_stage("parse", parse, options, form, seed=None, sample=sample)


def row_maker(source: Source, options: Options) -> Deferred | None:
    """Returns what makes single rows, where parse runs in worker processes."""
    if not options.processes_of("parse"):
        return None
    sample = functools.partial(sample_plan, source, options)
    parse: Any = options.parse
    return python_row("parse", parse, options, sample=sample)


def _batch_form(options: Options, request: Request) -> Form:
    return Form(batch_size=request.batch_size, drop_remainder=_drop(options, request))


def _augment(
    stage: str, source: Source, options: Options, request: Request, form: Form
) -> list[Call]:
    function = getattr(options, stage)
    if function is None or not request.training:
        return []
    return _map_with_seed(stage, function, source, options, request, form)


def _batch_map(source: Source, options: Options, request: Request) -> list[Call]:
    if options.batch_map is None:
        return []
    form = Form(batches=True)
    return _map_with_seed("batch_map", options.batch_map, source, options, request, form)


def _map_with_seed(
    stage: str,
    function: Callable[..., Any],
    source: Source,
    options: Options,
    request: Request,
    form: Form,
) -> list[Call]:
    sample = functools.partial(sample_plan, source, options)
    python = functools.partial(python_stage, stage, function, options, form, sample=sample)
    if not takes_seed(function):
        plain = options.processes_of(stage) is None
        return [_map(stage, function, options) if plain else python(seed=None)]
    kwargs: dict[str, Any] = {"passes": request.passes_of(stage)}
    if request.start is not None:
        kwargs = {"first": numbers_from(stage, request.start)}
    numbers = [Call(stage, positions, (), kwargs)]
    if form.takes_blocks:
        numbers.append(Call(stage, "batch", (request.batch_size,)))
    pairs = functools.partial(numbered, numbers=Plan(tuple(numbers)))
    numbering = [Call(stage, "apply", (pairs,))]
    if request.split is not None:
        numbering = numbered_calls(stage)
    seed = request.seed_of(stage)
    if options.processes_of(stage):
        return [*numbering, python(seed=seed)]
    seeded = functools.partial(with_seed, function=function, seed=seed)
    return [*numbering, _map(stage, seeded, options)]


def _map(stage: str, function: Callable[..., Any], options: Options) -> Call:
    kwargs = parallel(options.parallel_calls(stage), deterministic=options.deterministic)
    return Call(stage, "map", (function,), kwargs)
