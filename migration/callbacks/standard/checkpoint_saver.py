"""CheckpointSaverHook under fit."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from migration.callbacks.hook_callback import HookCallback
from migration.callbacks.twin import Twin

__all__ = ["CheckpointSaverCallback"]

KEPT = 5  # the default of tf.compat.v1.train.Saver, which the hook would have used


class CheckpointSaverCallback(HookCallback):
    """Saves the Keras model and its optimizer where and when the hook would save the graph.

    The files are `model.ckpt-STEP` in the hook's folder, checkpoints of
    `tf.train.Checkpoint(model=model, optimizer=model.optimizer)`. As with the hook, one is written
    when training begins and when it ends. Listeners are called before and after each with a legacy
    session in which the names of the model stand for its values; one that returns True stops
    training.
    """

    _twin: Twin | None = None

    def started(self, step: int) -> None:
        """Saves the model as it is."""
        if not tf.executing_eagerly():
            raise OptionError(
                "CheckpointSaverHook under fit needs eager execution, and this program switched it"
                " off. Take keras.callbacks.ModelCheckpoint."
            )
        hook = self.hook
        checkpoint = tf.train.Checkpoint(model=self.model, optimizer=self.model.optimizer)
        saver = hook._saver or getattr(hook._scaffold, "saver", None)
        kept = KEPT if saver is None else saver.as_saver_def().max_to_keep
        self._manager = tf.train.CheckpointManager(
            checkpoint,
            hook._checkpoint_dir,
            max_to_keep=kept or None,
            checkpoint_name=os.path.basename(hook._save_path),
        )
        self._open_twin()
        self._save(step)
        hook._timer.update_last_triggered_step(step)

    def after_step(self, before: int, step: int) -> None:
        """Saves if it is time, and stops where a listener asks to."""
        del before
        if self.hook._timer.should_trigger_for_step(step):
            self.hook._timer.update_last_triggered_step(step)
            self.values.step = step
            if self._save(step):
                self.request_stop()

    def ended(self, step: int) -> None:
        """Saves the last step, unless it was saved."""
        if step != self.hook._timer.last_triggered_step():
            self._save(step)
        self._tell("end", step)
        self._close_twin()

    def names_in_use(self) -> list[str]:
        """Returns the names that the listeners asked for."""
        return [] if self._twin is None else list(self._twin.graph.supplied)

    def _save(self, step: int) -> bool:
        self._tell("before_save", step)
        tf.compat.v1.logging.info("Saving checkpoints for %d into %s.", step, self.hook._save_path)
        self._manager.save(checkpoint_number=step)
        return any(self._tell("after_save", step))

    def _tell(self, what: str, step: int) -> list[Any]:
        twin = self._twin
        if twin is None:
            return []
        told = (getattr(listener, what) for listener in self.hook._listeners)
        return [twin.call(function, twin.session, step) for function in told]

    def _open_twin(self) -> None:
        self._close_twin()
        if self.hook._listeners:
            self._twin = Twin(self.values)
            self._twin.begin(lambda: [listener.begin() for listener in self.hook._listeners])

    def _close_twin(self) -> None:
        if self._twin is not None:
            self._twin.close()
            self._twin = None
