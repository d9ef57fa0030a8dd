"""SummarySaverHook under fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from migration.callbacks.events import writer_of
from migration.callbacks.hook_callback import HookCallback

__all__ = ["SummarySaverCallback"]

v1 = tf.compat.v1


class SummarySaverCallback(HookCallback):
    """Writes scalars of the model at the hook's steps or seconds.

    `summary_op` may name them: "loss" or ["loss", "accuracy"]. Summary operations belong to a graph
    that fit does not run; in their place the loss and all metrics are written.
    """

    def started(self, step: int) -> None:
        """Opens the event file and looks up what is written."""
        del step
        self._writer = writer_of(self.hook)
        self._next_step: int | None = None
        self._requested = False
        wanted = self.hook._summary_op
        wanted = wanted if isinstance(wanted, (list, tuple)) else [wanted]
        named = all(isinstance(item, str) for item in wanted)
        self._names = [self.values.name_of(item) for item in wanted] if named else None
        if self._names is None:
            self.values.name_of("loss")

    def before_step(self, step: int) -> None:
        """Decides whether this step is written."""
        del step
        self._requested = self._next_step is None or (
            self.hook._timer.should_trigger_for_step(self._next_step)
        )

    def after_step(self, before: int, step: int) -> None:
        """Writes it."""
        del before
        if self._writer is None:
            return
        if self._next_step is None:
            start = v1.SessionLog(status=v1.SessionLog.START)
            self._writer.add_session_log(start, step)
        if self._requested:
            self.hook._timer.update_last_triggered_step(step)
            names = self._names or self.values.logged()
            self._writer.add_summary(v1.Summary(value=[self._scalar(n) for n in names]), step)
        self._next_step = step + 1

    def ended(self, step: int) -> None:
        """Makes sure that everything is on the disk."""
        del step
        if self._writer is not None:
            self._writer.flush()

    def _scalar(self, name: str) -> Any:
        value = np.asarray(self.values.value(name))
        if value.size != 1:
            raise OptionError(
                f"SummarySaverHook writes scalars under fit. Received: {name!r} of shape"
                f" {value.shape}. For histograms take keras.callbacks.TensorBoard."
            )
        return v1.Summary.Value(tag=name, simple_value=float(value.reshape(())))
