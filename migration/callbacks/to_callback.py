"""The face of this folder: a SessionRunHook as the Keras callback that does the same."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from migration.callbacks.hook_callback import HookCallback
from migration.callbacks.session_run import SessionRunCallback
from migration.callbacks.standard.checkpoint_saver import CheckpointSaverCallback
from migration.callbacks.standard.early_stopping import EarlyStoppingCallback
from migration.callbacks.standard.feed_fn import FeedFnCallback
from migration.callbacks.standard.final_ops import FinalOpsCallback
from migration.callbacks.standard.global_step_waiter import GlobalStepWaiterCallback
from migration.callbacks.standard.logging_tensor import LoggingTensorCallback
from migration.callbacks.standard.multi_worker_stopping import MultiWorkerStoppingCallback
from migration.callbacks.standard.nan_tensor import NanTensorCallback
from migration.callbacks.standard.profiler import ProfilerCallback
from migration.callbacks.standard.step_counter import StepCounterCallback
from migration.callbacks.standard.stop_at_step import StopAtStepCallback
from migration.callbacks.standard.summary_saver import SummarySaverCallback

__all__ = ["to_callback"]

v1 = tf.compat.v1

STANDARD: dict[type, type[HookCallback]] = {
    v1.train.CheckpointSaverHook: CheckpointSaverCallback,
    v1.train.FeedFnHook: FeedFnCallback,
    v1.train.FinalOpsHook: FinalOpsCallback,
    v1.train.GlobalStepWaiterHook: GlobalStepWaiterCallback,
    v1.train.LoggingTensorHook: LoggingTensorCallback,
    v1.train.NanTensorHook: NanTensorCallback,
    v1.train.ProfilerHook: ProfilerCallback,
    v1.train.StepCounterHook: StepCounterCallback,
    v1.train.StopAtStepHook: StopAtStepCallback,
    v1.train.SummarySaverHook: SummarySaverCallback,
}

# By name, since tensorflow_estimator may not be there.
EARLY_STOPPING: dict[str, type[HookCallback]] = {
    "_MultiWorkerEarlyStoppingHook": MultiWorkerStoppingCallback,
    "_StopOnPredicateHook": EarlyStoppingCallback,
}


def to_callback(hook: Any, *, tensors: Mapping[str, str] | None = None) -> HookCallback:
    """Returns a Keras callback that does under fit what the hook does under the Estimator.

    TensorFlow's own hooks become callbacks that decide at the same steps: StopAtStepHook,
    LoggingTensorHook, CheckpointSaverHook, SummarySaverHook, StepCounterHook, NanTensorHook,
    GlobalStepWaiterHook, FinalOpsHook, ProfilerHook, FeedFnHook, and what
    tf.estimator.experimental makes for early stopping. Every other hook, a subclass of these too,
    runs as it is: it finds a legacy graph and session in which names stand for what the model has,
    and may add operations, fetch, feed and stop.

    Names are "loss" (of the batch, as in a legacy graph), "global_step", "learning_rate", metrics,
    layers (their output) and variables ("dense/kernel"); objects may be the model's own layers,
    variables, metrics and outputs. With a `ModelFnModel` the hook runs in the model's own session,
    where every tensor of the graph has its old name.

    Example:
      >>> import numpy as np, tensorflow as tf
      >>> import migration
      >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> stop = migration.to_callback(tf.compat.v1.train.StopAtStepHook(last_step=7))
      >>> x = np.ones((4, 1))
      >>> history = model.fit(x, x, batch_size=1, epochs=9, verbose=0, callbacks=[stop])
      >>> int(model.optimizer.iterations.numpy())
      7

    Args:
      hook: a tf.estimator or tf.compat.v1.train SessionRunHook, one of your own too.
      tensors: the model's names for tensors that the hook names otherwise, such as
        {"softmax_tensor:0": "probabilities"}.

    Returns:
      A callback for `fit`. A hook that asks for a tensor that is not there is an OptionError when
      training begins, which lists near names.

    Raises:
      OptionError: this is no SessionRunHook.
    """
    if not isinstance(hook, v1.train.SessionRunHook):
        raise OptionError(
            f"to_callback takes a SessionRunHook. Received: {hook!r} of type"
            f" {type(hook).__name__}. A Keras callback is given to fit as it is."
        )
    return _kind(hook)(hook, tensors)


def _kind(hook: Any) -> type[HookCallback]:
    # A subclass may do anything, so only the very classes are known.
    kind = type(hook)
    if kind in STANDARD:
        fed = kind is v1.train.FinalOpsHook and hook._final_ops_feed_dict
        return SessionRunCallback if fed else STANDARD[kind]
    if kind.__module__.endswith("estimator.early_stopping"):
        return EARLY_STOPPING.get(kind.__name__, SessionRunCallback)
    return SessionRunCallback
