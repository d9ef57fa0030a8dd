"""The features of an input function as the inputs of a Keras model, matched strictly by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError

__all__ = ["KerasInputs"]


class KerasInputs:
    """Picks the inputs of a model from features.

    Args:
      model: a built Functional or Sequential model, whose inputs have names; any other keras.Model
        is given the features as they are.
      features: of a first batch: a tensor or a dict of tensors.

    Attributes:
      notes: what was left out or matched without a name.

    Raises:
      StructureError: an input is missing among the features, or has another shape.
    """

    def __init__(self, model: Any, features: Any) -> None:
        self.notes: list[str] = []
        self._structure = _inputs(model)
        self._only: str | None = None
        if isinstance(features, Mapping) and self._structure is not None:
            self._check_names(features)
        self._check_shapes(self.of(features))

    def of(self, features: Any) -> Any:
        """Returns what the model is called with."""
        structure = self._structure
        if structure is None:
            return features
        if not isinstance(features, Mapping):
            if tf.nest.is_nested(structure) and len(tf.nest.flatten(structure)) > 1:
                raise StructureError(
                    f"The features have no names, but the model has the inputs {self._names()}."
                    " Expected: a dict of features by these names."
                )
            return tf.nest.pack_sequence_as(structure, [features])
        if self._only is not None:
            return tf.nest.pack_sequence_as(structure, [features[self._only]])
        if isinstance(structure, Mapping):
            return {name: features[name] for name in structure}
        return tf.nest.pack_sequence_as(structure, [features[name] for name in self._names()])

    def _names(self) -> list[str]:
        if isinstance(self._structure, Mapping):
            return list(self._structure)
        return [tensor.name.split(":")[0] for tensor in tf.nest.flatten(self._structure)]

    def _check_names(self, features: Mapping[str, Any]) -> None:
        names = self._names()
        if len(names) == 1 and len(features) == 1 and names[0] not in features:
            (self._only,) = features
            self.notes.append(
                f"The only feature {self._only!r} is fed to the only input {names[0]!r}."
            )
            return
        missing = [name for name in names if name not in features]
        if missing:
            raise StructureError(
                f"The model has inputs that are no features: {missing}. Received the features"
                f" {sorted(features)}. Name the inputs after the features."
            )
        extra = sorted(set(features) - set(names))
        if extra:
            self.notes.append(f"Features that the model does not take: {', '.join(extra)}.")

    def _check_shapes(self, inputs: Any) -> None:
        if self._structure is None:
            return
        wanted, given = tf.nest.flatten(self._structure), tf.nest.flatten(inputs)
        for name, want, have in zip(self._names(), wanted, given, strict=True):
            if not isinstance(have, tf.Tensor):
                continue
            expected, received = tuple(want.shape)[1:], tuple(have.shape)[1:]
            # Keras gives a vector of one number a row the rank that it needs.
            if {expected, received} == {(), (1,)}:
                continue
            pairs = list(zip(expected, received, strict=False))
            if len(expected) != len(received) or any(e not in (None, r) for e, r in pairs):
                raise StructureError(
                    f"The model's input {name!r} has rows of shape {expected}, the feature rows of"
                    f" shape {received}."
                )


def _inputs(model: Any) -> Any:
    """Returns the structure of symbolic inputs; None for a model that has none."""
    try:
        return model.input
    except (AttributeError, ValueError, RuntimeError):
        return None
