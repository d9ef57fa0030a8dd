"""The batch stage: plain, padded, or by length."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from estimator_io.ops.batches import batch_by_length, padded_batch
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call

__all__ = ["batch_calls"]


def batch_calls(
    options: Options, batch_size: int | None, *, drop_remainder: bool, row_splits: Any = None
) -> list[Call]:
    """Returns the calls that make batches of rows.

    `row_splits` is the dtype of the row splits where rows of uneven length become RaggedTensors.
    """
    if options.bucket_boundaries is not None:
        return [Call("batch", "apply", (_by_length(options, batch_size, drop_remainder),))]
    kwargs: dict[str, Any] = {"drop_remainder": drop_remainder}
    if options.padding:
        if isinstance(options.padding, (Mapping, tuple)):
            kwargs["padded_shapes"] = options.padding
        if options.padding_values is None:
            return [Call("batch", "padded_batch", (batch_size,), kwargs)]
        kwargs |= {"batch_size": batch_size, "values": options.padding_values}
        return [Call("batch", "apply", (functools.partial(padded_batch, **kwargs),))]
    if row_splits is not None:
        kwargs["row_splits_dtype"] = row_splits
        return [Call("batch", "ragged_batch", (batch_size,), kwargs)]
    return [Call("batch", "batch", (batch_size,), kwargs)]


def _by_length(
    options: Options, batch_size: int | None, drop_remainder: bool
) -> functools.partial[Any]:
    bounds = list(options.bucket_boundaries or ())
    sizes = options.bucket_batch_sizes or [batch_size] * (len(bounds) + 1)
    return functools.partial(
        batch_by_length,
        boundaries=bounds,
        batch_sizes=list(sizes),
        element_length=options.element_length,
        drop_remainder=drop_remainder,
        values=options.padding_values,
    )
