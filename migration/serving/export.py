"""A Keras model as a SavedModel that receives what a serving_input_receiver_fn receives."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf
from tensorflow.python.trackable import resource

from estimator_io.errors import StructureError
from migration.fitting.declared import Declared, declared_outputs
from migration.fitting.features import match_features

__all__ = ["export_saved_model"]

_DEFAULT = tf.saved_model.DEFAULT_SERVING_SIGNATURE_DEF_KEY


def export_saved_model(
    model: Any,
    export_dir_base: str,
    serving_input_receiver_fn: Callable[[], Any],
    *,
    assets_extra: Mapping[str, str] | None = None,
    as_text: bool = False,
    now: float,
) -> str:
    """Writes a SavedModel whose signatures take the receiver tensors.

    Features are matched to the model's inputs by name, as in training. "serving_default" gives the
    model's outputs by name; each of the receiver's alternatives has a signature
    "NAME:serving_default".

    Args:
      model: a built keras.Model.
      export_dir_base: the folder of all exports of an exporter.
      serving_input_receiver_fn: builds placeholders and features in a legacy graph.
      assets_extra: files to copy to assets.extra, by their place there.
      as_text: whether to write saved_model.pbtxt instead of saved_model.pb.
      now: seconds since the epoch, which name the folder.

    Returns:
      The folder; one that appears whole.

    Raises:
      StructureError: features do not fit the model, or a receiver tensor is sparse.
    """
    module: Any = tf.Module()
    module.model = model
    receiver = _receive(serving_input_receiver_fn)
    alternatives = getattr(receiver, "receiver_tensors_alternatives", None) or {}
    signatures = {_DEFAULT: None, **dict.fromkeys(alternatives)}
    functions = {
        _DEFAULT if name == _DEFAULT else f"{name}:{_DEFAULT}": _signature(
            model, serving_input_receiver_fn, None if name == _DEFAULT else name, module
        )
        for name in signatures
    }
    os.makedirs(export_dir_base, exist_ok=True)
    version = _version(export_dir_base, int(now))
    folder = os.path.join(export_dir_base, str(version))
    unfinished = os.path.join(export_dir_base, f"temp-{version}")
    tf.saved_model.save(module, unfinished, signatures=functions)
    _copy_assets(unfinished, assets_extra or {})
    if as_text:
        _rewrite_as_text(unfinished)
    os.rename(unfinished, folder)
    return folder


def _receive(serving_input_receiver_fn: Callable[[], Any]) -> Any:
    with tf.Graph().as_default():
        return serving_input_receiver_fn()


def _signature(model: Any, receive: Callable[[], Any], alternative: str | None, module: Any) -> Any:
    """Returns the concrete function from the receiver tensors to the model's outputs by name."""
    names: list[str] = []
    feeds: list[Any] = []

    def build() -> dict[str, Any]:
        receiver = receive()
        tensors = receiver.receiver_tensors
        if alternative is not None:
            tensors = receiver.receiver_tensors_alternatives[alternative]
        named = dict(tensors) if isinstance(tensors, Mapping) else {"input": tensors}
        _require_dense(named)
        names.extend(named)
        feeds.extend(named.values())
        spec = tf.nest.map_structure(tf.type_spec_from_value, receiver.features)
        features = match_features(spec, model, set(spec if isinstance(spec, Mapping) else ()))
        return _by_name(model, model(features(receiver.features), training=False))

    tracker = resource.ResourceTracker()
    with resource.resource_tracker_scope(tracker):
        wrapped = tf.compat.v1.wrap_function(build, [])
    # A SavedModel holds what its module owns: here the tables of the receiver.
    module.resources = [*getattr(module, "resources", ()), *tracker.resources]
    outputs = wrapped.structured_outputs
    pruned = wrapped.prune(feeds, outputs)

    def serve(**received: Any) -> Any:
        return pruned(*(received[name] for name in names))

    specs = {n: tf.TensorSpec(t.shape, t.dtype, name=n) for n, t in zip(names, feeds, strict=True)}
    return tf.function(serve).get_concrete_function(**specs)


def _by_name(model: Any, outputs: Any) -> dict[str, Any]:
    if isinstance(outputs, Mapping):
        return dict(outputs)
    flat = list(outputs) if isinstance(outputs, (list, tuple)) else [outputs]
    declared = declared_outputs(model)
    if isinstance(declared, Declared):
        declared = (declared,)
    if not isinstance(declared, tuple) or len(declared) != len(flat):
        return {f"output_{at}": tensor for at, tensor in enumerate(flat)}
    return {each.name: tensor for each, tensor in zip(declared, flat, strict=True)}


def _require_dense(tensors: Mapping[str, Any]) -> None:
    for name, tensor in tensors.items():
        if not isinstance(tensor, tf.Tensor):
            raise StructureError(
                f"The receiver tensor {name!r} cannot be fed to a served Keras model. Received:"
                f" {type(tensor).__name__}. Expected: a dense tensor. Receive serialized Examples,"
                " which the receiver function parses into it."
            )


def _version(folder: str, now: int) -> int:
    """Returns `now`, or the next number that is larger than those of the exports in `folder`."""
    names = [name.removeprefix("temp-") for name in os.listdir(folder)]
    taken = [int(name) for name in names if name.isdigit()]
    return max([now, *(number + 1 for number in taken)])


def _copy_assets(folder: str, assets: Mapping[str, str]) -> None:
    for place, source in assets.items():
        target = os.path.join(folder, "assets.extra", place)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        shutil.copyfile(source, target)


def _rewrite_as_text(folder: str) -> None:
    from google.protobuf import text_format
    from tensorflow.core.protobuf import saved_model_pb2

    binary = os.path.join(folder, "saved_model.pb")
    with open(binary, "rb") as file:
        proto = saved_model_pb2.SavedModel.FromString(file.read())
    with open(os.path.join(folder, "saved_model.pbtxt"), "w", encoding="utf-8") as file:
        file.write(text_format.MessageToString(proto))
    os.remove(binary)
