"""Features matched to a model's inputs, strictly by name."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError
from estimator_io.pipeline.structure import spell
from migration.fitting.declared import Declared, declared_inputs

__all__ = ["aligned", "match_features"]

_log = logging.getLogger("estimator_io")
Function = Callable[[Any], Any]


def match_features(spec: Any, model: Any, noted: set[str]) -> Function:
    """Returns the function that makes a model's input of the features of a batch.

    Args:
      spec: the element spec of the features.
      model: a keras.Model; one that declares no inputs is given the features as they are.
      noted: keys that were already said to be dropped; grows.

    Returns:
      A function of the features that drops what the model does not take, and aligns ranks.

    Raises:
      StructureError: an input has no feature of its name, or one of another type or shape.
    """
    inputs = declared_inputs(model)
    if inputs is None:
        return lambda features: features
    if not isinstance(spec, Mapping):
        return _match_unnamed(spec, inputs, model)
    flat = [inputs] if isinstance(inputs, Declared) else _values(inputs)
    _require_all(flat, spec, model)
    _note_extra(sorted(set(spec) - {each.name for each in flat}), model, noted)
    align = {each.name: aligned(spec[each.name], each, "feature") for each in flat}

    def matched(features: Any) -> Any:
        chosen = [align[each.name](features[each.name]) for each in flat]
        if isinstance(inputs, Declared):
            return chosen[0]
        return dict(zip(inputs, chosen, strict=True)) if isinstance(inputs, dict) else tuple(chosen)

    return matched


def aligned(spec: Any, declared: Declared, what: str) -> Function:
    """Returns the function that gives a tensor the rank and kind that the model declares.

    Raises:
      StructureError: the tensor is of another type or shape.
    """
    if (spec.dtype == tf.string) != (declared.dtype == tf.string):
        raise _mismatch(what, spec, declared)
    steps: list[Function] = []
    if declared.kind == "dense" and not isinstance(spec, tf.TensorSpec):
        # Keras has no way to hand these to a dense input.
        sparse = isinstance(spec, tf.SparseTensorSpec)
        steps.append(tf.sparse.to_dense if sparse else lambda tensor: tensor.to_tensor())
        _log.info("the %s %r is made dense, since the model's input is", what, declared.name)
    shape, wanted = spec.shape, declared.shape
    if shape.rank is not None and wanted.rank is not None and isinstance(spec, tf.TensorSpec):
        if shape.rank == wanted.rank - 1 and wanted[-1] in (1, None):
            steps.append(lambda tensor: tf.expand_dims(tensor, -1))
            shape = tf.TensorShape([*shape, 1])
        elif shape.rank == wanted.rank + 1 and shape[-1] == 1:
            steps.append(lambda tensor: tf.squeeze(tensor, -1))
            shape = shape[:-1]
    if not _compatible(shape, wanted):
        raise _mismatch(what, spec, declared)
    return _in_turn(steps)


def _compatible(shape: tf.TensorShape, wanted: tf.TensorShape) -> bool:
    if shape.rank is None or wanted.rank is None:
        return True
    return shape.rank == wanted.rank and shape[1:].is_compatible_with(wanted[1:])


def _in_turn(steps: list[Function]) -> Function:
    def apply(tensor: Any) -> Any:
        for step in steps:
            tensor = step(tensor)
        return tensor

    return apply


def _match_unnamed(spec: Any, inputs: Any, model: Any) -> Function:
    flat = [inputs] if isinstance(inputs, Declared) else _values(inputs)
    if isinstance(spec, tuple):
        return lambda features: features
    if len(flat) != 1:
        raise StructureError(
            f"The features have no names, and the model {model.name!r} has {len(flat)} inputs:"
            f" {_listed(flat)}. Received: {spell(spec)}. Expected: a dict of features by name."
        )
    align = aligned(spec, flat[0], "feature")
    if isinstance(inputs, dict):
        return lambda features: {flat[0].name: align(features)}
    if isinstance(inputs, tuple):
        return lambda features: (align(features),)
    return align


def _values(inputs: Any) -> list[Declared]:
    return list(inputs.values() if isinstance(inputs, dict) else inputs)


def _require_all(inputs: list[Declared], spec: Mapping[str, Any], model: Any) -> None:
    missing = [each for each in inputs if each.name not in spec]
    if missing:
        raise StructureError(
            f"The model {model.name!r} has inputs that no feature is named after:"
            f" {_listed(missing)}. Received the features: {', '.join(sorted(spec))}. Name the input"
            " after its feature, as in tf.keras.Input(shape, name='age'), or add the feature in"
            " parse."
        )


def _note_extra(extra: list[str], model: Any, noted: set[str]) -> None:
    new = [name for name in extra if name not in noted]
    if new:
        noted.update(new)
        _log.warning(
            "features that the model %r does not take are dropped: %s", model.name, ", ".join(new)
        )


def _mismatch(what: str, spec: Any, declared: Declared) -> StructureError:
    shape = [None, *declared.shape[1:]] if declared.shape.rank else "any shape"
    return StructureError(
        f"The {what} {declared.name!r} does not fit the model. Received: {spell(spec)}. Expected:"
        f" {declared.dtype.name} {shape}. Change it in parse, or the model's declaration."
    )


def _listed(inputs: list[Declared]) -> str:
    return ", ".join(repr(each.name) for each in inputs)
