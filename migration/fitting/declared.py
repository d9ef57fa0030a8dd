"""What a Keras model declares of its inputs and outputs, alike on Keras 2.15 and Keras 3."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

__all__ = ["Declared", "declared_inputs", "declared_outputs"]


@dataclasses.dataclass(frozen=True)
class Declared:
    """One tensor that a model takes or gives.

    Attributes:
      name: by which data is matched.
      shape: with None for the batch.
      dtype: of TensorFlow.
      kind: "dense", "sparse" or "ragged".
    """

    name: str
    shape: tf.TensorShape
    dtype: tf.DType
    kind: str


def declared_inputs(model: Any) -> Any:
    """Returns the structure of a model's inputs, `Declared` for each; None where it declares none.

    A dict is keyed as the model was built; other structures are named by keras.Input(name=…).
    Subclassed models, and a Sequential without an Input, declare none.
    """
    return _declared(model, "input", "inputs", None)


def declared_outputs(model: Any) -> Any:
    """Returns the same of its outputs, named as `compile(loss={…})` names them."""
    return _declared(model, "output", "outputs", getattr(model, "output_names", None))


def _declared(model: Any, one: str, all_of_them: str, names: Any) -> Any:
    try:
        flat = getattr(model, all_of_them)
        # A Sequential of Keras 3 has no structure of its own, since it is always one tensor.
        sequential = isinstance(model, tf.keras.Sequential)
        structure = flat[0] if flat and sequential else getattr(model, one)
    except (AttributeError, ValueError, RuntimeError):
        return None
    if not flat:
        return None
    if isinstance(structure, dict):
        return {key: _described(tensor, key) for key, tensor in structure.items()}
    tensors = list(structure) if isinstance(structure, (list, tuple)) else [structure]
    names = names if names and len(names) == len(tensors) else [t.name for t in tensors]
    described = [_described(t, name) for t, name in zip(tensors, names, strict=True)]
    return tuple(described) if isinstance(structure, (list, tuple)) else described[0]


def _described(tensor: Any, name: str) -> Declared:
    spec: Any = getattr(tensor, "type_spec", None)  # of Keras 2
    sparse = isinstance(spec, tf.SparseTensorSpec) or getattr(tensor, "sparse", False)
    ragged = isinstance(spec, tf.RaggedTensorSpec) or getattr(tensor, "ragged", False)
    kind = "sparse" if sparse else "ragged" if ragged else "dense"
    dtype = tensor.dtype if spec is None else spec.dtype
    return Declared(name, tf.TensorShape(tensor.shape), tf.as_dtype(dtype), kind)
