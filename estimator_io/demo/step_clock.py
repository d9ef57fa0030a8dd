"""When each training step asked for its batch, got it, and was done."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Protocol

import numpy as np

__all__ = ["StepClock", "Watcher"]


class Watcher(Protocol):
    """What wants to know of every step, numbered from 0."""

    def before_step(self, step: int) -> None:
        """Called before the step's time begins."""
        ...

    def after_step(self, step: int) -> None:
        """Called after it ended."""
        ...


class StepClock:
    """Collects the times of training steps, in seconds since the epoch.

    Attributes:
      begins: when each step began, and so asked for its batch.
      arrivals: when the batch was there.
      ends: when the step was done.
      rows: the rows of each batch.
      evaluations: evaluation passes that came to their end.

    Args:
      watchers: told of every step, outside of its time.
    """

    def __init__(self, watchers: Sequence[Watcher] = ()) -> None:
        self.begins: list[float] = []
        self.arrivals: list[float] = []
        self.ends: list[float] = []
        self.rows: list[int] = []
        self.evaluations = 0
        self._watchers = watchers

    def begin(self) -> None:
        """Notes that a step begins."""
        for watcher in self._watchers:
            watcher.before_step(len(self.begins))
        self.begins.append(time.time())

    def end(self, *, arrival: float, rows: int, done: float | None = None) -> None:
        """Notes that a step is done.

        Args:
          arrival: when its batch was there.
          rows: the rows of the batch.
          done: when the step was done; None is now.
        """
        end = max(self.begins[-1], time.time() if done is None else float(done))
        self.ends.append(end)
        self.arrivals.append(float(np.clip(arrival, self.begins[-1], end)))
        self.rows.append(int(rows))
        for watcher in self._watchers:
            watcher.after_step(len(self.ends) - 1)
