"""Steps of fit that are counted exactly: up to the last one, and none without a batch."""

from __future__ import annotations

import functools
from typing import Any

import tensorflow as tf

from migration.loop.keras_state import updates_of

__all__ = ["StepsNeedBatches", "StopAtMaxSteps"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


class StopAtMaxSteps(_Callback):
    """Ends training with the step `max_steps`, as the optimizer counts them.

    Args:
      max_steps: the last step.
    """

    def __init__(self, max_steps: int) -> None:
        super().__init__()
        self._max_steps = max_steps

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Ends training where the step is reached."""
        del batch, logs
        if updates_of(self.model) >= self._max_steps:
            self.model.stop_training = True


class StepsNeedBatches(_Callback):
    """Lets a step change nothing where its data turns out to have ended.

    Of data of unknown length Keras asks for one batch too many. What of the step does not depend on
    the batch is done nevertheless, since a graph runs it beside the request: the optimizer counts,
    weights decay, seed generators move on. With this callback the whole step waits for its batch.
    """

    def on_train_begin(self, logs: Any = None) -> None:
        """Changes the train step of the model, once."""
        del logs
        step = self.model.train_step
        if getattr(step, "waits_for_batch", False) or hasattr(self.model, "attach_hook"):
            return

        @functools.wraps(step)
        def train_step(data: Any) -> Any:
            parts = tf.nest.flatten(data, expand_composites=True)
            with tf.control_dependencies([part for part in parts if tf.is_tensor(part)]):
                return step(data)

        train_step.waits_for_batch = True  # pyright: ignore[reportFunctionMemberAccess]
        # Past Keras's own __setattr__, which would look for variables in it.
        object.__setattr__(self.model, "train_step", train_step)
        self.model.make_train_function(force=True)
