"""Replicas and workers that end training together, at a step that is counted right."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from migration.distribution.workers import Workers
from migration.loop.keras_state import updates_of

__all__ = ["KeptCount", "StopTogether"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


class StopTogether(_Callback):
    """Ends training in each worker behind the step at which one of them asked for it.

    A worker that stopped alone would leave the others waiting for its next step. Stands behind the
    callbacks that may ask.

    Args:
      workers: that train together.
    """

    def __init__(self, workers: Workers) -> None:
        super().__init__()
        self._workers = workers

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Asks the others."""
        del batch, logs
        if self._workers.any(bool(self.model.stop_training)):
            self.model.stop_training = True


class KeptCount(_Callback):
    """Takes back the step that Keras 2 counts when distributed data turns out to have ended.

    The counter does not depend on the batch, so it is added to whether or not there is one; nothing
    else of that step is done.
    """

    _step = 0

    def on_train_begin(self, logs: Any = None) -> None:
        """Notes the step that training begins with."""
        del logs
        self._step = updates_of(self.model)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Notes the step."""
        del batch, logs
        self._step = updates_of(self.model)

    def on_train_end(self, logs: Any = None) -> None:
        """Takes back what was counted since."""
        del logs
        if updates_of(self.model) != self._step:
            self.model.optimizer.iterations.assign(self._step)
