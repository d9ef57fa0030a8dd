"""How long steps wait for their input, told by two clocks in the graph around get_next()."""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import tensorflow as tf

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
    """Adds up what steps waited.

    Args:
      waiting: what to add to.
      waited: the tensor of the seconds that the step waited.
    """

    def __init__(self, waiting: Waiting, waited: Any) -> None:
        self._waiting = waiting
        self._waited = waited
        self._first = True
        self._start = 0.0

    def before_run(self, run_context: Any) -> Any:
        """Asks for the seconds."""
        self._start = time.perf_counter()
        return tf.compat.v1.train.SessionRunArgs(self._waited)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Adds them; the first step also starts the pipeline, and does not count."""
        if not self._first:
            self._waiting.add(float(run_values.results), time.perf_counter() - self._start)
        self._first = False
