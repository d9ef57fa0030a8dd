"""Steps that were taken, with what they took and waited, as those who watch them are told."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import Protocol

import numpy as np

__all__ = ["MOST", "StepListener", "Steps", "waits_of"]

MOST = 500  # steps that are told of at once, at most; what each telling costs is then little a step
CLOCK = 2e-6  # seconds: TensorFlow's timestamps are whole microseconds, rounded down


@dataclasses.dataclass
class Steps:
    """Executions one after another; each is a step, or several steps.

    Attributes:
      waiting: float64 [n], seconds waiting for input; NaN where that cannot be seen.
      seconds: float64 [n], what the execution took, waiting included.
      counts: int64 [n], how many steps these are the seconds of.
      loss: returns the loss of the last one, where there is one.
    """

    waiting: np.ndarray
    seconds: np.ndarray
    counts: np.ndarray
    loss: Callable[[], float | None] = lambda: None

    def cut(self, ends: Sequence[int]) -> Iterator[Steps]:
        """Yields the same in parts: up to each index of `ends`, and what is left after them."""
        began = 0
        for end in (*ends, len(self.seconds)):
            if began < end:
                part = slice(began, end)
                yield Steps(self.waiting[part], self.seconds[part], self.counts[part], self.loss)
            began = end


class StepListener(Protocol):
    """Who is told of steps, many at a time."""

    def before_step(self) -> None:
        """An execution begins; its time is not running yet."""
        ...

    def after_steps(self, steps: Steps) -> None:
        """Steps were taken."""
        ...

    def steps_to_wait(self) -> int:
        """Returns after how many more steps it must be told, at the latest."""
        ...

    @property
    def seconds_to_wait(self) -> float:
        """After how many seconds it must be told, at the latest, when the next step is over."""
        ...


def waits_of(
    asked: np.ndarray, got: np.ndarray, began: np.ndarray, ended: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Returns how long each execution waited, and the execution that each request belongs to.

    Requests of one execution may overlap; time in which several wait is counted once.

    Args:
      asked: float64 [m], when a batch was asked for; in the seconds of `time.time()`, as all are.
      got: float64 [m], when it was there.
      began: float64 [n], ascending, when an execution began.
      ended: float64 [n], when it was over.

    Returns:
      float64 [n], seconds, NaN where no request was seen; and int64 [m], -1 for a request of none
      of the executions, such as the one that met the end of the data.
    """
    of = np.searchsorted(began - CLOCK, asked, side="right") - 1
    of = np.where((of >= 0) & (asked <= ended[of] + CLOCK), of, -1)
    order = np.argsort(asked, kind="stable")
    order = order[of[order] >= 0]
    # Executions follow one another, so the latest batch so far is of the same one, or earlier.
    reached = np.maximum.accumulate(np.concatenate([[-np.inf], got[order]]))[:-1]
    waits = np.maximum(0.0, got[order] - np.maximum(asked[order], reached))
    sums = np.bincount(of[order], waits, minlength=len(began))
    seen = np.bincount(of[order], minlength=len(began)) > 0
    return np.where(seen, sums, np.nan), of
