"""The transformations that call a function: map, filter, flat_map and interleave, as steps."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import AUTOTUNE, Step
from estimator_io.profiling.eagerly import from_variant, to_variant
from estimator_io.profiling.functions import code_place, contents

__all__ = ["FUNCTIONAL", "interleaved", "reads_files"]


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
        writes=found.writes,
        operations=found.operations,
        place=place or code_place(user),
        expands=expands,
        opens=not _of_datasets(dataset),
    )


def _of_datasets(dataset: Any) -> bool:
    """Whether the elements that come to a transformation are Datasets, as windows are."""
    specs = tf.nest.flatten(dataset._input_dataset.element_spec)
    return any(isinstance(spec, tf.data.DatasetSpec) for spec in specs)


def _map(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._map_func.function
    deterministic = getattr(dataset, "_deterministic", "default")

    def apply(before: Any, calls: int | None) -> Any:
        common: dict[str, Any] = {
            "input_dataset": to_variant(before),
            "other_arguments": function.captured_inputs,
            "f": function,
            "use_inter_op_parallelism": True,
            "preserve_cardinality": True,
            **dataset._flat_structure,
        }
        if calls is None:
            return from_variant(tf.raw_ops.MapDataset(**common), dataset)
        number = tf.constant(calls, tf.int64)
        variant = tf.raw_ops.ParallelMapDatasetV2(
            num_parallel_calls=number, deterministic=deterministic, **common
        )
        return from_variant(variant, dataset)

    return _with_function(dataset, dataset._map_func, "map", stage, place, apply, parallel=True)


def _filter(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._predicate.function

    def apply(before: Any, calls: int | None) -> Any:
        del calls
        variant = tf.raw_ops.FilterDataset(
            input_dataset=to_variant(before),
            other_arguments=function.captured_inputs,
            predicate=function,
            **dataset._flat_structure,
        )
        return from_variant(variant, dataset)

    return _with_function(dataset, dataset._predicate, "filter", stage, place, apply, expands=True)


def _flat_map(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._map_func.function

    def apply(before: Any, calls: int | None) -> Any:
        del calls
        variant = tf.raw_ops.FlatMapDataset(
            input_dataset=to_variant(before),
            other_arguments=function.captured_inputs,
            f=function,
            **dataset._flat_structure,
        )
        return from_variant(variant, dataset)

    return _with_function(dataset, dataset._map_func, "flat_map", stage, place, apply, expands=True)


def _interleave(dataset: Any, stage: str | None, place: str | None) -> Step:
    function = dataset._map_func.function
    cycle, block = int(dataset._cycle_length), int(dataset._block_length)
    deterministic = getattr(dataset, "_deterministic", "default")

    def apply(before: Any, calls: int | None, cycle: int = cycle) -> Any:
        common: dict[str, Any] = {
            "input_dataset": to_variant(before),
            "other_arguments": function.captured_inputs,
            "cycle_length": tf.constant(cycle, tf.int64),
            "block_length": tf.constant(block, tf.int64),
            "f": function,
            **dataset._flat_structure,
        }
        if calls is None:
            return from_variant(tf.raw_ops.InterleaveDataset(**common), dataset)
        variant = tf.raw_ops.ParallelInterleaveDatasetV4(
            buffer_output_elements=tf.constant(AUTOTUNE, tf.int64),
            prefetch_input_elements=tf.constant(AUTOTUNE, tf.int64),
            num_parallel_calls=tf.constant(calls, tf.int64),
            deterministic=deterministic if isinstance(deterministic, str) else "default",
            **common,
        )
        return from_variant(variant, dataset)

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
    return step.kind in ("flat_map", "interleave") and step.opens


def interleaved(step: Step) -> Step:
    """Returns a flat_map as an interleave of the same function."""
    function = step.function

    def at_once(calls: int) -> Callable[[Any], Any]:
        def apply(before: Any) -> Any:
            spec = step.apply(before).element_spec
            flat = step.apply(before)._flat_structure
            variant = tf.raw_ops.ParallelInterleaveDatasetV4(
                input_dataset=to_variant(before),
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


FUNCTIONAL: dict[str, Callable[[Any, str | None, str | None], Step]] = {
    "Map": _map,
    "ParallelMap": _map,
    "Filter": _filter,
    "FlatMap": _flat_map,
    "Interleave": _interleave,
    "ParallelInterleave": _interleave,
}
