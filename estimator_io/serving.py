"""Serving input receivers for Estimator.export_saved_model, from a pipeline's own spec."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from estimator_io.compat import estimator_module
from estimator_io.errors import OptionError, StructureError
from estimator_io.pipeline.structure import spell

if TYPE_CHECKING:
    from estimator_io.pipeline.interface import InputFn

__all__ = ["serving_input_receiver_fn"]


def serving_input_receiver_fn(fn: InputFn, receive: str) -> Callable[[], Any]:
    """Returns a function of no arguments for `Estimator.export_saved_model`.

    Args:
      fn: the pipeline whose features the model was trained on.
      receive: "features" or "examples"; see `InputFn.serving_input_receiver_fn`.

    Raises:
      OptionError: `receive` is another word, or this pipeline does not begin with Examples.
    """
    if receive == "features":
        return lambda: _receive_features(_features_spec(fn))
    if receive == "examples":
        spec = _example_spec(fn)
        return lambda: _receive_examples(spec)
    raise OptionError(
        f"receive is an unknown word. Received: {receive!r}. Expected: 'features' or 'examples'."
    )


def _features_spec(fn: InputFn) -> Any:
    spec = fn.spec("infer")
    return spec[0] if isinstance(spec, tuple) else spec


def _receive_features(spec: Any) -> Any:
    export = estimator_module().export
    if isinstance(spec, Mapping):
        features = {name: _placeholder(part, name) for name, part in spec.items()}
        return export.ServingInputReceiver(features, dict(features))
    tensor = _placeholder(spec, "features")
    return export.TensorServingInputReceiver(tensor, {"features": tensor})


def _placeholder(spec: Any, name: str) -> Any:
    if isinstance(spec, tf.SparseTensorSpec):
        return tf.compat.v1.sparse_placeholder(spec.dtype, [None, *spec.shape[1:]], name=name)
    if not isinstance(spec, tf.TensorSpec):
        raise StructureError(
            f"The feature {name!r} cannot be fed to a served model. Received: {spell(spec)}."
            " Expected: a dense or sparse tensor. Make it one in parse, or export with"
            " receive='examples'."
        )
    shape = None if spec.shape.rank is None else [None, *spec.shape[1:]]
    return tf.compat.v1.placeholder(spec.dtype, shape, name=name)


def _example_spec(fn: InputFn) -> Mapping[str, Any]:
    served = getattr(fn.source, "served", None)
    if not served:
        raise OptionError(
            "receive='examples' needs a pipeline of tf.train.Examples, made by tfrecord_input_fn"
            " with features and without sequence_features (SequenceExamples are beyond the parsing"
            f" signature). Received: {fn.source.describe()}. Use receive='features'."
        )
    used = [name for name in ("parse", "flat_map", "batch_map") if getattr(fn.options, name)]
    if used:
        raise OptionError(
            f"receive='examples' cannot carry {', '.join(used)} into the served model, since they"
            " may need labels. Use receive='features', or move that work into the model."
        )
    return served


def _receive_examples(spec: Mapping[str, Any]) -> Any:
    serialized = tf.compat.v1.placeholder(tf.string, [None], name="examples")
    features = tf.io.parse_example(serialized, dict(spec))
    export = estimator_module().export
    return export.ServingInputReceiver(features, {"examples": serialized})
