"""Batches of an eager Dataset as tensors of a legacy graph: a placeholder for each component."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError

__all__ = ["Placeholders", "spec_of"]


class Placeholders:
    """Stands for the batches of a Dataset inside an Estimator's graph.

    Args:
      spec: the element spec of the batches: features, or (features, labels).
    """

    def __init__(self, spec: Any) -> None:
        self.spec = _unwrapped(spec)
        self._placeholders: list[Any] = []

    def input_fn(self) -> Any:
        """Returns the batch as symbolic tensors; an Estimator calls it with its graph in place."""
        components = tf.nest.flatten(self.spec, expand_composites=True)
        self._placeholders = [
            tf.compat.v1.placeholder(component.dtype, component.shape, name=f"input_{at}")
            for at, component in enumerate(components)
        ]
        return tf.nest.pack_sequence_as(self.spec, self._placeholders, expand_composites=True)

    def feed(self, batch: Any) -> Mapping[Any, Any]:
        """Returns the values of the placeholders for one eager batch."""
        values = tf.nest.flatten(_unwrapped(batch), expand_composites=True)
        pairs = zip(self._placeholders, values, strict=True)
        return {placeholder: value.numpy() for placeholder, value in pairs}


def spec_of(batch: Any) -> Any:
    """Returns the spec of batches like this one, of any number of rows."""
    return tf.nest.map_structure(_spec_of_tensor, batch)


def _spec_of_tensor(value: Any) -> Any:
    if isinstance(value, tf.Tensor) and value.shape.rank:
        return tf.TensorSpec([None, *value.shape[1:]], value.dtype)
    spec: Any = tf.type_spec_from_value(value)
    if isinstance(spec, tf.SparseTensorSpec):
        return tf.SparseTensorSpec([None, *spec.shape[1:]], spec.dtype)
    if isinstance(spec, tf.RaggedTensorSpec):
        shape = [None, *spec.shape[1:]]
        return tf.RaggedTensorSpec(shape, spec.dtype, spec.ragged_rank, spec.row_splits_dtype)
    return spec


def _unwrapped(batch: Any) -> Any:
    """Returns features or (features, labels) of what Keras yields.

    Raises:
      StructureError: there are weights too, which a model_fn takes among its features.
    """
    if type(batch) is not tuple or len(batch) == 2:
        return batch
    if len(batch) == 1:
        return batch[0]
    raise StructureError(
        f"The batches are tuples of {len(batch)}. Expected: features, or (features, labels). A"
        " model_fn takes weights among its features; an InputFn handed over itself, instead of its"
        " Dataset, puts them there under weight_key."
    )
