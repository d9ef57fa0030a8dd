"""Checkpoints while fit runs, with the listeners of the TrainSpec: a CheckpointSaverHook's work."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from migration.distribution.workers import Workers
from migration.loop.checkpoints import CheckpointFolder
from migration.loop.evaluation import CheckpointListener
from migration.loop.keras_state import KerasState
from migration.loop.timing import Timer

__all__ = ["CheckpointCallback", "NoSession"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


class NoSession:
    """Stands where a listener is handed a session, and says so when it is used."""

    def __getattr__(self, name: str) -> Any:
        """Raises: there is no session under fit."""
        raise OptionError(
            f"A saving listener asked its session for {name!r}, but there is no session under fit."
            " Take what it needs from the model, or keep the model_fn (migration.ModelFnModel)."
        )


class CheckpointCallback(_Callback):
    """Writes a checkpoint when training begins, when one is due, and after the last step.

    Args:
      state: the model.
      folder: where checkpoints are kept.
      timer: says when one is due.
      listeners: told of each checkpoint, in this order.
      workers: that train together: the chief's timer counts, and any listener may end training.
    """

    def __init__(
        self,
        state: KerasState,
        folder: CheckpointFolder,
        timer: Timer,
        listeners: Sequence[CheckpointListener],
        workers: Workers,
    ) -> None:
        super().__init__()
        self._state = state
        self._folder = folder
        self._timer = timer
        self._listeners = listeners
        self._workers = workers

    def on_train_begin(self, logs: Any = None) -> None:
        """Writes the checkpoint that training begins with."""
        del logs
        for listener in self._listeners:
            listener.begin()
        step = self._state.global_step
        self._save(step)
        self._timer.trigger(step)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Writes a checkpoint where one is due; a listener may end training."""
        del batch, logs
        step = self._state.global_step
        due = self._timer.due(step)
        if not self._timer.counts_steps:
            due = self._workers.any(due and self._workers.is_chief)
        if due:
            self._timer.trigger(step)
            if self._save(step):
                self.model.stop_training = True

    def on_train_end(self, logs: Any = None) -> None:
        """Writes the checkpoint of the last step, if there is none yet."""
        del logs
        step = self._state.global_step
        if step != self._timer.last_step:
            self._save(step)
        for listener in self._listeners:
            listener.end(NoSession(), step)

    def _save(self, step: int) -> bool:
        for listener in self._listeners:
            listener.before_save(NoSession(), step)
        self._folder.write(step, self._state.save)
        # Each listener is told, also after one has asked to stop.
        asked = [listener.after_save(NoSession(), step) for listener in self._listeners]
        return self._workers.any(any(asked))
