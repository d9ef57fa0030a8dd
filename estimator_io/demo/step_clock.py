"""When each step asked for its batch, got it, and was done: under the Estimator and under fit."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["STEP_EVENT", "EvaluationCounter", "StepClock", "StepHook", "step_callback"]

# What a step is called in the profiler's trace, which gives the two clocks one zero.
STEP_EVENT = "demo_step"


class StepClock:
    """Collects the times of training steps, in seconds since the epoch.

    Attributes:
      begins: when each step began, and so asked for its batch.
      arrivals: when the batch was there.
      ends: when the step was done.
      rows: the rows of each batch.
      evaluations: evaluation passes that came to their end.

    Args:
      on_step: called after each step, for a progress bar.
    """

    def __init__(self, on_step: Callable[[], None] = lambda: None) -> None:
        self.begins: list[float] = []
        self.arrivals: list[float] = []
        self.ends: list[float] = []
        self.rows: list[int] = []
        self.evaluations = 0
        self._on_step = on_step
        self._event: Any = None

    def begin(self) -> None:
        """Notes that a step begins."""
        self._event = tf.profiler.experimental.Trace(STEP_EVENT)
        self._event.__enter__()
        self.begins.append(time.time())

    def end(self, arrival: float, rows: int) -> None:
        """Notes that a step is done, and when its batch of `rows` rows had been there."""
        self.ends.append(time.time())
        self._event.__exit__(None, None, None)
        self.arrivals.append(float(np.clip(arrival, self.begins[-1], self.ends[-1])))
        self.rows.append(int(rows))
        self._on_step()


class StepHook(tf.compat.v1.train.SessionRunHook):
    """Keeps a `StepClock` under the Estimator.

    It finds the one operation of the graph that gets the next batch, so neither input_fn nor
    model_fn knows of it.
    """

    def __init__(self, clock: StepClock) -> None:
        self._clock = clock
        self._fetches: dict[str, tf.Tensor] = {}

    def begin(self) -> None:
        """Adds the operations that note when a batch has come, and its rows."""
        graph = tf.compat.v1.get_default_graph()
        batches = [op for op in graph.get_operations() if op.type == "IteratorGetNext"]
        (batch,) = batches
        with tf.device("/cpu:0"), tf.control_dependencies([batch]):
            self._fetches = {"arrival": tf.timestamp(), "rows": tf.shape(batch.outputs[0])[0]}

    def before_run(self, run_context: Any) -> Any:
        """Starts a step."""
        self._clock.begin()
        return tf.compat.v1.train.SessionRunArgs(self._fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends it."""
        self._clock.end(**run_values.results)


class EvaluationCounter(tf.compat.v1.train.SessionRunHook):
    """Counts the evaluations under the Estimator."""

    def __init__(self, clock: StepClock) -> None:
        self._clock = clock

    def end(self, session: Any) -> None:
        """Notes that one is done."""
        self._clock.evaluations += 1


def step_callback(clock: StepClock, stamp: Callable[[], tuple[float, int]]) -> Any:
    """Returns a Keras callback that keeps a `StepClock`; `stamp()` gives (arrival, rows)."""

    class StepCallback(tf.keras.callbacks.Callback):
        def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
            clock.begin()

        def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
            clock.end(*stamp())

        def on_test_end(self, logs: Any = None) -> None:
            clock.evaluations += 1

    return StepCallback()
