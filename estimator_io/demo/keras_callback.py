"""A `StepClock` under model.fit."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from estimator_io.demo.keras_model import Stamp
from estimator_io.demo.step_clock import StepClock

__all__ = ["StepCallback"]


class StepCallback(tf.keras.callbacks.Callback):
    """Keeps a `StepClock`, with the arrival of each batch from the model's `Stamp`."""

    def __init__(self, clock: StepClock, stamp: Stamp) -> None:
        super().__init__()
        self._clock = clock
        self._stamp = stamp

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Starts a step."""
        self._clock.begin()

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Ends it."""
        arrival, rows = self._stamp.read()
        self._clock.end(arrival=arrival, rows=rows)

    def on_test_end(self, logs: Any = None) -> None:
        """Counts an evaluation."""
        self._clock.evaluations += 1
