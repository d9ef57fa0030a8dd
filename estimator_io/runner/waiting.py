"""How long steps wait for their input, told by two clocks in the graph around get_next()."""

from __future__ import annotations

import dataclasses
import threading
import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.runner.places import frames_of_threads

__all__ = ["Waiting", "WaitingHook", "waiting_tensor"]


@dataclasses.dataclass
class Waiting:
    """Seconds of the steps of one input_fn, without the first step of each call.

    Attributes:
      steps: how many.
      waited: seconds in which they waited for the next element.
      lasted: seconds that they took.
    """

    steps: int = 0
    waited: float = 0.0
    lasted: float = 0.0

    def add(self, waited: float, lasted: float) -> None:
        """Adds one step."""
        self.steps += 1
        self.waited += waited
        self.lasted += lasted

    def describe(self) -> str:
        """Returns the share of the time in a sentence."""
        if self.steps == 0 or self.lasted <= 0:
            return "steps waiting for input: not measured"
        share = min(1.0, self.waited / self.lasted)
        milliseconds = 1000 * self.waited / self.steps
        return (
            f"steps waiting for input: {share:.0%} of the time of {self.steps:,} steps"
            f" ({milliseconds:.1f} ms a step)"
        )


def waiting_tensor(start: Any, element: Any) -> Any:
    """Returns the seconds from `start`, a timestamp, until all tensors of `element` are there."""
    leaves = tf.nest.flatten(element, expand_composites=True)
    with tf.control_dependencies([leaf for leaf in leaves if tf.is_tensor(leaf)]):
        return tf.timestamp() - start


class WaitingHook(tf.compat.v1.train.SessionRunHook):
    """Adds up what steps waited, and tells when the first one does not come back.

    Args:
      waiting: what to add to.
      waited: the tensor of the seconds that the step waited.
      patience: seconds that the first step may take before `late` is called.
      late: called in a thread of its own, once in a call to train or evaluate.
    """

    def __init__(
        self, waiting: Waiting, waited: Any, patience: float, late: Callable[[], None]
    ) -> None:
        self._waiting = waiting
        self._waited = waited
        self._first = True
        self._start = 0.0
        self._late = late
        self._thread = 0
        self._timer = threading.Timer(patience, self._tell)
        self._timer.daemon = True

    def before_run(self, run_context: Any) -> Any:
        """Asks for the seconds."""
        if self._first and not self._timer.is_alive() and not self._timer.finished.is_set():
            self._thread = threading.get_ident()
            self._timer.start()
        self._start = time.perf_counter()
        return tf.compat.v1.train.SessionRunArgs(self._waited)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Adds them; the first step also starts the pipeline, and does not count."""
        if not self._first:
            self._waiting.add(float(run_values.results), time.perf_counter() - self._start)
        self._first = False
        self._timer.cancel()

    def end(self, session: Any) -> None:
        """Waits for no step any more."""
        self._timer.cancel()

    def _tell(self) -> None:
        # A first step that raised has no after_run.
        frame = frames_of_threads().get(self._thread)
        while frame is not None and not frame.f_code.co_filename.endswith("client/session.py"):
            frame = frame.f_back
        if frame is not None:
            self._late()
