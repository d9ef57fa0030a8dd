"""What the Estimator reports while it trains: loss, global_step/sec, and NaN as an error."""

from __future__ import annotations

import logging
import math
from typing import Any

import tensorflow as tf

from migration.loop.events import EventFolders
from migration.loop.keras_state import KerasState
from migration.loop.timing import Clock, Timer

__all__ = ["ReportingCallback"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback
_log = logging.getLogger("estimator_io")


class ReportingCallback(_Callback):
    """Reports the loss of a step, as the Estimator does, instead of a mean over an epoch.

    Args:
      state: the model.
      events: the event files.
      summary_steps: steps between two scalars; None or 0 writes none.
      log_steps: steps between two lines of the log and two values of global_step/sec; None for
        none.
      clock: what tells the time.

    Raises:
      tf.estimator.NanLossDuringTrainingError: the loss of a step is not a number.
    """

    def __init__(
        self,
        state: KerasState,
        events: EventFolders,
        *,
        summary_steps: int | None,
        log_steps: int | None,
        clock: Clock,
    ) -> None:
        super().__init__()
        self._state = state
        self._events = events
        self._summaries = Timer(clock, every_steps=summary_steps) if summary_steps else None
        self._counter = Timer(clock, every_steps=log_steps) if log_steps else None

    def on_train_begin(self, logs: Any = None) -> None:
        """Begins the event file."""
        del logs
        self._events.start(self._state.global_step)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Begins the metrics anew, so that they are those of this step."""
        del batch, logs
        self.model.reset_metrics()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Reports what is due."""
        del batch
        step = self._state.global_step
        values = {name: float(value) for name, value in (logs or {}).items()}
        if self._counter is not None and self._counter.due(step):
            self._count(self._counter, step, values)
        if self._summaries is not None and self._summaries.due(step):
            self._summaries.trigger(step)
            self._events.write("", values, step)
        if math.isnan(values.get("loss", 0.0)):
            _log.error("the model diverged: its loss is NaN at step %d", step)
            raise tf.compat.v1.train.NanLossDuringTrainingError

    def on_train_end(self, logs: Any = None) -> None:
        """Lets readers see what was written."""
        del logs
        self._events.flush()

    def _count(self, timer: Timer, step: int, values: dict[str, float]) -> None:
        since = timer.trigger(step)
        rate = ""
        if since is not None and since[0] > 0:
            per_second = since[1] / since[0]
            self._events.write("", {"global_step/sec": per_second}, step)
            rate = f" ({per_second:.3f} steps/s)"
        _log.info("loss = %s, step = %d%s", values.get("loss"), step, rate)
