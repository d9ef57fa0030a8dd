"""What the elements of a pipeline must look like after each stage, told before any row is read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError

__all__ = ["check_element", "check_same", "spell"]


def check_element(spec: Any, stage: str) -> None:
    """Checks that `spec` is that of features, (features, labels) or (features, labels, weights).

    Raises:
      StructureError: it is something else, or a part of it is None or empty.
    """
    expected = (
        "Expected: features, (features, labels) or (features, labels, weights), where features is"
        " a tensor or a dict of tensors."
    )
    if isinstance(spec, tuple) and not 2 <= len(spec) <= 3 and not hasattr(spec, "_fields"):
        raise StructureError(
            f"{stage} returned a tuple of {len(spec)}. Received: {spell(spec)}. {expected}"
        )
    parts = spec if isinstance(spec, tuple) else (spec,)
    for name, part in zip(("features", "labels", "weights"), parts, strict=False):
        if any(is_none(leaf) for leaf in tf.nest.flatten(part)):
            raise StructureError(
                f"{stage} returned None in its {name}. Received: {spell(spec)}. {expected} Without"
                " labels return the features alone."
            )
        if isinstance(part, Mapping) and not part:
            raise StructureError(f"{stage} returned an empty dict as its {name}. {expected}")


def check_same(before: Any, after: Any, stage: str) -> None:
    """Checks that a stage that only changes values kept keys, nesting and dtypes.

    Raises:
      StructureError: it did not.
    """
    try:
        tf.nest.assert_same_structure(before, after)
        same = all(
            getattr(old, "dtype", None) == getattr(new, "dtype", None)
            for old, new in zip(tf.nest.flatten(before), tf.nest.flatten(after), strict=True)
        )
    except (TypeError, ValueError):
        same = False
    if not same:
        raise StructureError(
            f"{stage} returned another structure than it received, so training and evaluation"
            f" would differ. Received from it: {spell(after)}. Expected, as it was given:"
            f" {spell(before)}. Return the same keys and dtypes; shapes may change. Changes that"
            " evaluation needs too belong into parse or batch_map."
        )


def spell(spec: Any) -> str:
    """Returns a spec in few words: float32[128, 8000] for each tensor."""
    if isinstance(spec, Mapping):
        return "{" + ", ".join(f"{key!r}: {spell(spec[key])}" for key in spec) + "}"
    if isinstance(spec, (tuple, list)):
        return "(" + ", ".join(spell(item) for item in spec) + ")"
    if isinstance(spec, tf.TensorSpec):
        return f"{spec.dtype.name}{spell_shape(spec.shape)}"
    return "None" if is_none(spec) else str(spec)


def is_none(spec: Any) -> bool:
    """Whether `spec` is that of None; TF 2.15 has its class under no public name."""
    return type(spec).__name__ == "NoneTensorSpec"


def spell_shape(shape: tf.TensorShape) -> str:
    """Returns a shape as text, unknown dimensions as None."""
    return "[...]" if shape.rank is None else str(shape.as_list())
