"""The way back: a Keras callback under the Estimator."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.hooks.session_loss import loss_among

__all__ = ["CallbackHook", "to_hook"]

v1 = tf.compat.v1

# Not known to the type checker, since it is loaded lazily.
_Hook: Any = v1.train.SessionRunHook

# Callbacks that are about a Keras model's weights or optimizer, and what the Estimator has for it.
INSTEAD = {
    "BackupAndRestore": "nothing: the Estimator goes on from the checkpoints in model_dir",
    "ModelCheckpoint": "RunConfig(save_checkpoints_steps=…, keep_checkpoint_max=…), or a"
    " BestExporter",
    "LearningRateScheduler": "a schedule of the global step in the model_fn, such as"
    " tf.compat.v1.train.exponential_decay",
    "ReduceLROnPlateau": "a schedule of the global step in the model_fn",
    "SwapEMAWeights": "tf.train.ExponentialMovingAverage in the model_fn",
    "TensorBoard": "tf.compat.v1.summary in the model_fn; the Estimator writes to model_dir",
}


def to_hook(callback: Any, *, tensors: Mapping[str, Any] | None = None) -> CallbackHook:
    """Returns a SessionRunHook that calls a Keras callback while an Estimator trains.

    The callback sees the beginning and the end of training, each batch with `logs["loss"]`, the
    loss of that batch, and one epoch for each call of `Estimator.train`, numbered from 0, whose
    logs are those of the last batch. What sets `self.model.stop_training` stops training at that
    step. `self.model.optimizer.iterations` is the global step before training and after each batch.

    There is no Keras model behind: a callback that asks for its weights gets an error that says so.

    Example:
      >>> import numpy as np, tensorflow as tf
      >>> import migration
      >>> history = tf.keras.callbacks.History()
      >>> hook = migration.to_hook(history)
      >>> with tf.Graph().as_default():
      ...     step = tf.compat.v1.train.create_global_step()
      ...     train_op = tf.compat.v1.assign_add(step, 1)
      ...     loss = tf.constant(0.5)
      ...     with tf.compat.v1.train.MonitoredSession(hooks=[hook]) as session:
      ...         _ = session.run([train_op, loss])
      >>> history.history
      {'loss': [0.5]}

    Args:
      callback: a keras.callbacks.Callback.
      tensors: further logs by name: names of tensors, or tensors, of the graph.

    Raises:
      OptionError: this is no callback, or one that is about a Keras model's weights.
    """
    known = hasattr(callback, "on_train_batch_end") and not isinstance(callback, type)
    if not known or not hasattr(callback, "set_model"):
        raise OptionError(
            f"to_hook takes a keras.callbacks.Callback. Received: {callback!r} of type"
            f" {type(callback).__name__}."
        )
    name = type(callback).__name__
    if name in INSTEAD:
        raise OptionError(
            f"{name} works on a Keras model, which an Estimator has not. Take instead"
            f" {INSTEAD[name]}."
        )
    if getattr(callback, "restore_best_weights", False):
        raise OptionError(
            f"{name}(restore_best_weights=True) needs a Keras model, which an Estimator has not."
            " Leave it out, and export the best checkpoint with a BestExporter."
        )
    return CallbackHook(callback, tensors or {})


class NoKerasModelError(OptionError, AttributeError):
    """A Keras callback asks for something of a Keras model under the Estimator."""


class CallbackHook(_Hook):
    """Calls a Keras callback from a session's steps; `to_hook` makes it.

    Args:
      callback: the callback.
      tensors: further logs by name.
    """

    def __init__(self, callback: Any, tensors: Mapping[str, Any]) -> None:
        self._callback = callback
        self._tensors = dict(tensors)
        self._model = ModelStandIn(type(callback).__name__)
        self._epoch = -1
        self._running = False

    def begin(self) -> None:
        """Looks up what is logged; a tensor that is not there is TensorFlow's error now."""
        graph = v1.get_default_graph()
        self._step = v1.train.get_global_step()
        self._fetches = {
            name: graph.as_graph_element(_full(tensor)) for name, tensor in self._tensors.items()
        }
        self._running = False

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Training begins; a session that replaces a lost one goes on with the same training."""
        del coord
        if self._step is not None:
            self._model.optimizer.iterations = session.run(self._step)
        if self._running:
            return
        self._running = True
        self._epoch += 1
        self._batch = 0
        self._logs: dict[str, Any] = {}
        self._model.stop_training = False
        self._callback.set_model(self._model)
        self._callback.set_params({"epochs": self._epoch + 1, "steps": None, "verbose": 0})
        self._callback.on_train_begin({})
        self._callback.on_epoch_begin(self._epoch, {})

    def before_run(self, run_context: Any) -> Any:
        """A batch begins."""
        self._callback.on_train_batch_begin(self._batch, {})
        fetches = dict(self._fetches)
        loss = loss_among(run_context.original_args.fetches)
        if loss is not None:
            fetches.setdefault("loss", loss)
        return v1.train.SessionRunArgs(fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """A batch was trained on."""
        self._logs = {name: _plain(value) for name, value in run_values.results.items()}
        self._model.optimizer.iterations += 1
        self._callback.on_train_batch_end(self._batch, dict(self._logs))
        self._batch += 1
        if self._model.stop_training:
            run_context.request_stop()

    def end(self, session: Any) -> None:
        """Training ends without an error."""
        del session
        self._callback.on_epoch_end(self._epoch, dict(self._logs))
        self._callback.on_train_end(dict(self._logs))
        self._running = False


class ModelStandIn:
    """What a callback finds as its model: it can stop training and ask for the global step.

    Args:
      callback: the name of the callback's class, for errors.
    """

    def __init__(self, callback: str) -> None:
        self.stop_training = False
        self.history: Any = None
        self.optimizer = OptimizerStandIn(callback)
        self._callback = callback

    def __getattr__(self, name: str) -> Any:
        raise _no_model(self._callback if "_callback" in self.__dict__ else "", f"model.{name}")


class OptimizerStandIn:
    """What a callback finds as its model's optimizer.

    Args:
      callback: the name of the callback's class, for errors.

    Attributes:
      iterations: the global step.
    """

    def __init__(self, callback: str) -> None:
        self.iterations: Any = 0
        self._callback = callback

    def __getattr__(self, name: str) -> Any:
        callback = self._callback if "_callback" in self.__dict__ else ""
        raise _no_model(callback, f"model.optimizer.{name}")


def _no_model(callback: str, what: str) -> NoKerasModelError:
    return NoKerasModelError(
        f"The callback {callback} asks for {what}, and under the Estimator there is no Keras model."
        " It has: model.stop_training, model.optimizer.iterations and the logs. For the weights use"
        " Estimator.get_variable_value, or move to model.fit (migration.ModelFnModel)."
    )


def _full(tensor: Any) -> Any:
    return f"{tensor}:0" if isinstance(tensor, str) and ":" not in tensor else tensor


def _plain(value: Any) -> Any:
    return value.item() if getattr(value, "ndim", None) == 0 else value
