"""The transformations that call no function of the user, or only look at keys, as steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import AUTOTUNE, Step
from estimator_io.profiling.eagerly import from_variant, to_variant

__all__ = ["PLAIN", "SHUFFLE_ROWS", "depth", "unwrapped"]

# Shuffling costs the same with a small buffer, and need not be waited for.
SHUFFLE_ROWS = 64


def unwrapped(dataset: Any) -> Any:
    """Returns the object that holds the transformation, where others wrap it."""
    while True:
        inner = getattr(dataset, "_dataset", None)
        if type(dataset).__name__ == "DatasetV1Adapter" and inner is not None:
            dataset = inner
        elif getattr(dataset, "_impl", None) is not None:
            dataset = dataset._impl
        else:
            return dataset


def depth(dataset: Any) -> int:
    """Returns how many transformations a Dataset went through."""
    number = 0
    at = unwrapped(dataset)
    while (before := getattr(at, "_input_dataset", None)) is not None:
        number, at = number + 1, unwrapped(before)
    return number


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
        drops=drop,
    )


def _padded_batch(dataset: Any, stage: str | None, place: str | None) -> Step:
    def apply(before: Any) -> Any:
        shapes = tf.nest.flatten(dataset._padded_shapes)
        variant = tf.raw_ops.PaddedBatchDatasetV2(
            input_dataset=to_variant(before),
            batch_size=dataset._batch_size,
            padded_shapes=[tf.cast(shape, tf.int64) for shape in shapes],
            padding_values=tf.nest.flatten(dataset._padding_values),
            drop_remainder=dataset._drop_remainder,
            output_shapes=dataset._flat_structure["output_shapes"],
        )
        return from_variant(variant, dataset)

    size = int(dataset._batch_size)
    return Step(
        stage or "padded_batch",
        "batch",
        apply,
        serial=apply,
        size=size,
        place=place,
        drops=bool(dataset._drop_remainder),
    )


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
            input_dataset=to_variant(before), **dataset._flat_structure
        )
        return from_variant(variant, dataset)

    return Step(stage or "unbatch", "unbatch", apply, place=place, expands=True)


def _restructured(dataset: Any, stage: str | None, place: str | None) -> Step:
    # unbatch hands composite tensors on in parts, and puts them together again.
    del place
    return Step(
        stage or "unbatch", "free", lambda before: from_variant(to_variant(before), dataset)
    )


def _zip(dataset: Any, stage: str | None, place: str | None) -> Step:
    inputs = list(dataset._inputs())
    main = max(range(len(inputs)), key=lambda at: depth(inputs[at]))

    def apply(before: Any) -> Any:
        # The others are read again when they end, as the source of the chain is.
        parts = [before if at == main else one.repeat() for at, one in enumerate(inputs)]
        variant = tf.raw_ops.ZipDataset(
            input_datasets=[to_variant(part) for part in parts], **dataset._flat_structure
        )
        return from_variant(variant, dataset)

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
            input_dataset=to_variant(before),
            key_func_other_arguments=key.captured_inputs,
            reduce_func_other_arguments=reduce.captured_inputs,
            window_size_func_other_arguments=window.captured_inputs,
            key_func=key,
            reduce_func=reduce,
            window_size_func=window,
            **dataset._flat_structure,
        )
        return from_variant(variant, dataset)

    return Step(stage or "group_by_window", "group", apply, place=place)


PLAIN: dict[str, Callable[[Any, str | None, str | None], Step]] = {
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
