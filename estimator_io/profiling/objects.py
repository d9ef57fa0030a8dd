"""Dataset objects as a chain: their inputs are followed back, and each one becomes a step.

TensorFlow gives no public access to the transformations of a Dataset, so attributes of its classes
are read; they are the same from 2.15 to 2.21. A class that is not known here becomes the source
of the chain, together with all that stands before it.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import AUTOTUNE, Chain, Step
from estimator_io.profiling.functions import code_place, contents

__all__ = ["chain_of", "interleaved", "plain", "reads_files"]

# Shuffling costs the same with a small buffer, and need not be waited for.
SHUFFLE_ROWS = 64
_NEUTRAL = ("Take", "Skip", "Repeat", "Options", "AssertCardinality", "AssertNext", "Model")


def chain_of(
    dataset: Any,
    stages: Mapping[int, str] | None = None,
    places: Mapping[int, str] | None = None,
) -> Chain:
    """Returns the chain that ends in `dataset`.

    Args:
      dataset: made eagerly.
      stages: the stage of Dataset objects, by id, where it is known.
      places: the lines that made them, by id.
    """
    steps: list[Step] = []
    options = tf.data.Options().merge(dataset.options())
    at = _unwrapped(dataset)
    while True:
        stage = (stages or {}).get(id(at))
        place = (places or {}).get(id(at))
        before = _input(at)
        step = None if before is None else _step(at, stage, place)
        if before is None or step is None:
            steps.append(_source(at, stage, place))
            break
        if step.kind != "neutral":
            steps.append(step)
        at = _unwrapped(before)
    optimization = options.experimental_optimization
    rewritten = optimization.apply_default_optimizations is not False
    return Chain(_told_apart(steps[::-1], bool(stages)), options, rewritten)


def _told_apart(steps: list[Step], named: bool) -> tuple[Step, ...]:
    """Returns the steps with numbers where several have the same name."""
    names = [step.stage for step in steps]
    if named:
        return tuple(steps)
    return tuple(
        step
        if names.count(step.stage) == 1
        else dataclasses.replace(step, stage=f"{step.stage} {names[: at + 1].count(step.stage)}")
        for at, step in enumerate(steps)
    )


def plain(dataset: Any) -> Any:
    """Returns `dataset` without rewrites and tuning, so that what is timed is what is written."""
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    return dataset.with_options(options)


def _unwrapped(dataset: Any) -> Any:
    """Returns the object that holds the transformation, where others wrap it."""
    while True:
        inner = getattr(dataset, "_dataset", None)
        if type(dataset).__name__ == "DatasetV1Adapter" and inner is not None:
            dataset = inner
        elif getattr(dataset, "_impl", None) is not None:
            dataset = dataset._impl
        else:
            return dataset


def _input(dataset: Any) -> Any:
    if "Zip" in type(dataset).__name__:
        inputs = list(dataset._inputs())
        return max(inputs, key=_depth)
    return getattr(dataset, "_input_dataset", None)


def _depth(dataset: Any) -> int:
    depth = 0
    at = _unwrapped(dataset)
    while (before := getattr(at, "_input_dataset", None)) is not None:
        depth, at = depth + 1, _unwrapped(before)
    return depth


def _source(dataset: Any, stage: str | None, place: str | None) -> Step:
    return Step(stage or _name(dataset), "source", lambda _: dataset, place=place)


def _name(dataset: Any) -> str:
    name = type(dataset).__name__.strip("_").replace("Dataset", "")
    return name.removesuffix("V1").removesuffix("V2") or "source"


def _step(dataset: Any, stage: str | None, place: str | None) -> Step | None:
    """Returns the step of `dataset`; None where its class is not known."""
    name = _name(dataset)
    if name in _NEUTRAL:
        return Step(name, "neutral", lambda before: before)
    make = _MAKERS.get(name)
    if make is None:
        return None
    try:
        return make(dataset, stage, place)
    except AttributeError:  # a version of TensorFlow that keeps it elsewhere
        return None


def _from(variant: Any, dataset: Any) -> Any:
    return tf.data.experimental.from_variant(variant, dataset.element_spec)


def _variant(dataset: Any) -> Any:
    return tf.data.experimental.to_variant(dataset)


def _with_function(
    dataset: Any,
    wrapped: Any,
    kind: str,
    stage: str | None,
    place: str | None,
    apply: Callable[..., Any],
    *,
    parallel: bool = False,
    expands: bool = False,
) -> Step:
    found = contents(wrapped.function)
    calls = getattr(dataset, "_num_parallel_calls", None)
    number = None if calls is None else int(calls)
    user = getattr(wrapped, "_func", None)
    return Step(
        stage or kind,
        kind,
        functools.partial(apply, calls=number),
        serial=functools.partial(apply, calls=None),
        with_calls=(lambda n: functools.partial(apply, calls=n)) if parallel else None,
        calls=number,
        function=wrapped.function,
        user_function=user,
        python=found.python,
        stateful=found.stateful,
        random=found.random,
        operations=found.operations,
        place=place or code_place(user),
        expands=expands,
    )


def _map(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._map_func.function
    deterministic = getattr(dataset, "_deterministic", "default")

    def apply(before: Any, calls: int | None) -> Any:
        common: dict[str, Any] = {
            "input_dataset": _variant(before),
            "other_arguments": function.captured_inputs,
            "f": function,
            "use_inter_op_parallelism": True,
            "preserve_cardinality": True,
            **dataset._flat_structure,
        }
        if calls is None:
            return _from(tf.raw_ops.MapDataset(**common), dataset)
        number = tf.constant(calls, tf.int64)
        variant = tf.raw_ops.ParallelMapDatasetV2(
            num_parallel_calls=number, deterministic=deterministic, **common
        )
        return _from(variant, dataset)

    return _with_function(dataset, dataset._map_func, "map", stage, place, apply, parallel=True)


def _filter(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._predicate.function

    def apply(before: Any, calls: int | None) -> Any:
        del calls
        variant = tf.raw_ops.FilterDataset(
            input_dataset=_variant(before),
            other_arguments=function.captured_inputs,
            predicate=function,
            **dataset._flat_structure,
        )
        return _from(variant, dataset)

    return _with_function(dataset, dataset._predicate, "filter", stage, place, apply, expands=True)


def _flat_map(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._map_func.function

    def apply(before: Any, calls: int | None) -> Any:
        del calls
        variant = tf.raw_ops.FlatMapDataset(
            input_dataset=_variant(before),
            other_arguments=function.captured_inputs,
            f=function,
            **dataset._flat_structure,
        )
        return _from(variant, dataset)

    return _with_function(dataset, dataset._map_func, "flat_map", stage, place, apply, expands=True)


def _interleave(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._map_func.function
    cycle, block = int(dataset._cycle_length), int(dataset._block_length)
    deterministic = getattr(dataset, "_deterministic", "default")

    def apply(before: Any, calls: int | None, cycle: int = cycle) -> Any:
        common: dict[str, Any] = {
            "input_dataset": _variant(before),
            "other_arguments": function.captured_inputs,
            "cycle_length": tf.constant(cycle, tf.int64),
            "block_length": tf.constant(block, tf.int64),
            "f": function,
            **dataset._flat_structure,
        }
        if calls is None:
            return _from(tf.raw_ops.InterleaveDataset(**common), dataset)
        variant = tf.raw_ops.ParallelInterleaveDatasetV4(
            buffer_output_elements=tf.constant(AUTOTUNE, tf.int64),
            prefetch_input_elements=tf.constant(AUTOTUNE, tf.int64),
            num_parallel_calls=tf.constant(calls, tf.int64),
            deterministic=deterministic if isinstance(deterministic, str) else "default",
            **common,
        )
        return _from(variant, dataset)

    def at_once(calls: int) -> Callable[[Any], Any]:
        wide = cycle if cycle > 0 else max(calls, 1)
        return functools.partial(apply, calls=calls, cycle=max(wide, calls))

    step = _with_function(dataset, dataset._map_func, "interleave", stage, place, apply)
    return dataclasses.replace(
        step,
        serial=functools.partial(apply, calls=None, cycle=1),
        with_calls=at_once,
        size=cycle,
        expands=True,
    )


def reads_files(step: Step) -> bool:
    """Whether a step opens a Dataset for each element, such as a file, and hands on what it has."""
    return step.kind in ("flat_map", "interleave")


def interleaved(step: Step) -> Step:
    """Returns a flat_map as an interleave of the same function."""
    function = step.function

    def at_once(calls: int) -> Callable[[Any], Any]:
        def apply(before: Any) -> Any:
            spec = step.apply(before).element_spec
            flat = step.apply(before)._flat_structure
            variant = tf.raw_ops.ParallelInterleaveDatasetV4(
                input_dataset=_variant(before),
                other_arguments=function.captured_inputs,
                cycle_length=tf.constant(calls, tf.int64),
                block_length=tf.constant(1, tf.int64),
                buffer_output_elements=tf.constant(AUTOTUNE, tf.int64),
                prefetch_input_elements=tf.constant(AUTOTUNE, tf.int64),
                num_parallel_calls=tf.constant(calls, tf.int64),
                f=function,
                deterministic="default",
                **flat,
            )
            return tf.data.experimental.from_variant(variant, spec)

        return apply

    return dataclasses.replace(step, kind="interleave", with_calls=at_once, size=0)


def _batch(dataset: Any, stage: str | None, place: str | None) -> Step:
    size, drop = int(dataset._batch_size), bool(dataset._drop_remainder)
    calls = getattr(dataset, "_num_parallel_calls", None)

    def apply(before: Any) -> Any:
        return before.batch(size, drop_remainder=drop)

    return Step(
        stage or "batch",
        "batch",
        apply,
        serial=apply,
        calls=None if calls is None else int(calls),
        size=size,
        place=place,
    )


def _padded_batch(dataset: Any, stage: str | None, place: str | None) -> Step:
    def apply(before: Any) -> Any:
        shapes = tf.nest.flatten(dataset._padded_shapes)
        variant = tf.raw_ops.PaddedBatchDatasetV2(
            input_dataset=_variant(before),
            batch_size=dataset._batch_size,
            padded_shapes=[tf.cast(shape, tf.int64) for shape in shapes],
            padding_values=tf.nest.flatten(dataset._padding_values),
            drop_remainder=dataset._drop_remainder,
            output_shapes=dataset._flat_structure["output_shapes"],
        )
        return _from(variant, dataset)

    size = int(dataset._batch_size)
    return Step(stage or "padded_batch", "batch", apply, serial=apply, size=size, place=place)


def _shuffle(dataset: Any, stage: str | None, place: str | None) -> Step:
    size = int(dataset._buffer_size)

    def apply(before: Any) -> Any:
        return before.shuffle(max(1, min(size, SHUFFLE_ROWS)) if size > 0 else SHUFFLE_ROWS)

    return Step(stage or "shuffle", "shuffle", apply, size=size, place=place)


def _prefetch(dataset: Any, stage: str | None, place: str | None) -> Step:
    size = int(dataset._buffer_size)
    return Step(
        stage or "prefetch",
        "prefetch",
        lambda before: before.prefetch(size),
        None,
        None,
        AUTOTUNE,
        size=size,
        place=place,
    )


def _cache(dataset: Any, stage: str | None, place: str | None) -> Step:
    # A profile fills no cache: what is measured is the pass that would fill it.
    return Step(stage or "cache", "cache", lambda before: before, place=place)


def _unbatch(dataset: Any, stage: str | None, place: str | None) -> Step:
    def apply(before: Any) -> Any:
        variant = tf.raw_ops.UnbatchDataset(
            input_dataset=_variant(before), **dataset._flat_structure
        )
        return _from(variant, dataset)

    return Step(stage or "unbatch", "unbatch", apply, place=place, expands=True)


def _restructured(dataset: Any, stage: str | None, place: str | None) -> Step:
    # unbatch hands composite tensors on in parts, and puts them together again.
    del place
    return Step(stage or "unbatch", "free", lambda before: _from(_variant(before), dataset))


def _zip(dataset: Any, stage: str | None, place: str | None) -> Step:
    inputs = list(dataset._inputs())
    main = max(range(len(inputs)), key=lambda at: _depth(inputs[at]))

    def apply(before: Any) -> Any:
        # The others are read again when they end, as the source of the chain is.
        parts = [before if at == main else one.repeat() for at, one in enumerate(inputs)]
        variant = tf.raw_ops.ZipDataset(
            input_datasets=[_variant(part) for part in parts], **dataset._flat_structure
        )
        return _from(variant, dataset)

    return Step(stage or "zip", "other", apply, place=place)


def _shard(dataset: Any, stage: str | None, place: str | None) -> Step:
    number, index = int(dataset._num_shards), int(dataset._index)
    return Step(
        stage or "shard",
        "other",
        lambda before: before.shard(number, index),
        place=place,
        expands=True,
    )


def _group(dataset: Any, stage: str | None, place: str | None) -> Step:
    key, reduce = dataset._key_func.function, dataset._reduce_func.function
    window = dataset._window_size_func.function

    def apply(before: Any) -> Any:
        variant = tf.raw_ops.GroupByWindowDataset(
            input_dataset=_variant(before),
            key_func_other_arguments=key.captured_inputs,
            reduce_func_other_arguments=reduce.captured_inputs,
            window_size_func_other_arguments=window.captured_inputs,
            key_func=key,
            reduce_func=reduce,
            window_size_func=window,
            **dataset._flat_structure,
        )
        return _from(variant, dataset)

    return Step(stage or "group_by_window", "group", apply, place=place)


_MAKERS: dict[str, Callable[[Any, str | None, str | None], Step]] = {
    "Map": _map,
    "ParallelMap": _map,
    "Filter": _filter,
    "FlatMap": _flat_map,
    "Interleave": _interleave,
    "ParallelInterleave": _interleave,
    "Batch": _batch,
    "ParallelBatch": _batch,
    "PaddedBatch": _padded_batch,
    "Shuffle": _shuffle,
    "Prefetch": _prefetch,
    "Cache": _cache,
    "Snapshot": _cache,
    "Unbatch": _unbatch,
    "Restructured": _restructured,
    "Zip": _zip,
    "Shard": _shard,
    "GroupByWindow": _group,
}
