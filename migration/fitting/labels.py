"""Labels matched to a model's outputs: by name, with the rank of the output, strings as indices."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError, StructureError
from migration.fitting.declared import Declared, declared_outputs
from migration.fitting.widths import loss_of, require_width

__all__ = ["match_labels"]

_log = logging.getLogger("estimator_io")
Function = Callable[[Any], Any]
_TensorShape: Any = tf.TensorShape  # which takes None for an unknown rank
_UNKNOWN = _TensorShape(None)


def match_labels(
    spec: Any, model: Any, noted: set[str], vocabulary: Sequence[str] | None = None
) -> Function:
    """Returns the function that makes what a model's loss takes of the labels of a batch.

    Labels [batch] and [batch, 1] become what the output has: a loss that is given both sorts
    broadcasts them to [batch, batch] without a word. Class indices beside an output of several
    classes become [batch].

    Args:
      spec: the element spec of the labels.
      model: a keras.Model.
      noted: names of labels that were already said to be dropped; grows.
      vocabulary: the labels that the classes 0, 1, … stand for, where labels are strings.

    Raises:
      StructureError: labels and outputs have no name in common, strings have no vocabulary, or
        labels have another width than the output.
      OptionError: the vocabulary names a label twice, or labels are no strings.
    """
    outputs = declared_outputs(model)
    if outputs is None:
        outputs = Declared("output", _UNKNOWN, tf.float32, "dense")
    flat = [outputs] if isinstance(outputs, Declared) else _values(outputs)
    if not isinstance(spec, Mapping):
        if isinstance(spec, tuple) or len(flat) > 1:
            return lambda labels: labels
        return _label(spec, flat[0], vocabulary, loss_of(model, flat[0].name, 0))
    if isinstance(outputs, Declared) and len(spec) == 1:
        ((name, only),) = spec.items()
        function = _label(only, outputs, vocabulary, loss_of(model, outputs.name, 0))
        return lambda labels: function(labels[name])
    functions = {
        d.name: _label(spec[d.name], d, vocabulary, loss_of(model, d.name, position))
        for position, d in enumerate(flat)
        if d.name in spec
    }
    if not functions:
        raise StructureError(
            f"No output of the model {model.name!r} is named after a label. Received: labels"
            f" {', '.join(sorted(spec))}; outputs {', '.join(d.name for d in flat)}. Name the"
            " output, as in a layer's name=… or a dict of outputs."
        )
    _note_extra(sorted(set(spec) - set(functions)), model, noted)
    if isinstance(outputs, Declared):
        ((name, function),) = functions.items()
        return lambda labels: function(labels[name])
    return lambda labels: {name: function(labels[name]) for name, function in functions.items()}


def _label(spec: Any, output: Declared, vocabulary: Sequence[str] | None, loss: Any) -> Function:
    index = _index(spec, vocabulary)
    if isinstance(spec, tf.TensorSpec):
        require_width(spec.shape, output, loss)
    rank = _ranked(spec, output)
    return lambda labels: rank(index(labels))


def _ranked(spec: Any, output: Declared) -> Function:
    shape, wanted = getattr(spec, "shape", _UNKNOWN), output.shape
    if wanted.rank is None or not isinstance(spec, tf.TensorSpec):
        return lambda labels: labels
    if shape.rank is None:
        # Keras 3 needs the rank; of several classes it could be that of indices or of rows.
        if wanted.rank < 2 or wanted[-1] != 1 or None in wanted[1:]:
            return lambda labels: labels
        return lambda labels: tf.reshape(labels, [-1, *wanted[1:]])
    if shape.rank == wanted.rank - 1 and wanted[-1] == 1:
        return lambda labels: tf.expand_dims(labels, -1)
    if shape.rank > 1 and shape[-1] == 1 and wanted[-1] != 1:
        return lambda labels: tf.squeeze(labels, -1)
    return lambda labels: labels


def _index(spec: Any, vocabulary: Sequence[str] | None) -> Function:
    if spec.dtype != tf.string:
        if vocabulary is not None:
            raise OptionError(
                f"label_vocabulary was given, but labels are {spec.dtype.name}. Expected: strings."
                " Leave label_vocabulary out."
            )
        return lambda labels: labels
    if vocabulary is None:
        raise StructureError(
            "The labels are strings, which no Keras loss takes. Give label_vocabulary=[…], the"
            " labels in the order of their classes, as the Estimator's head was given it."
        )
    return _lookup(list(vocabulary))


def _lookup(vocabulary: list[str]) -> Function:
    if len(set(vocabulary)) < len(vocabulary):
        raise OptionError(f"label_vocabulary names a label twice. Received: {vocabulary}.")
    keys = tf.constant(vocabulary)
    values = tf.range(len(vocabulary), dtype=tf.int64)
    table = tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)

    def look_up(labels: Any) -> Any:
        found = table.lookup(labels)
        unknown = tf.boolean_mask(labels, found < 0)
        known = tf.debugging.Assert(
            tf.equal(tf.size(unknown), 0),
            ["A label is not in label_vocabulary. Received:", unknown[:3], "Expected:", keys],
        )
        with tf.control_dependencies([known]):
            return tf.identity(found)

    return look_up


def _values(outputs: Any) -> list[Declared]:
    return list(outputs.values() if isinstance(outputs, dict) else outputs)


def _note_extra(extra: list[str], model: Any, noted: set[str]) -> None:
    new = [name for name in extra if f"label {name}" not in noted]
    if new:
        noted.update(f"label {name}" for name in new)
        _log.warning("labels that the model %r has no output for are dropped: %s", model.name, new)
