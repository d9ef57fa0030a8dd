"""How long steps took and how long they waited for input: kept, summed up and told."""

from __future__ import annotations

import dataclasses

import numpy as np

__all__ = ["InputReport", "StepTimes"]

PERCENTILES = (50, 90, 99)


@dataclasses.dataclass(frozen=True)
class InputReport:
    """What steps took and waited, the first one apart: it fills buffers and traces functions.

    Attributes:
      steps: steps of the call, the first one among them.
      seconds: of all steps but the first, waiting for input included.
      waiting: seconds of these spent waiting for input; None where that could not be seen.
      first_seconds: of the first step.
      step_percentiles: seconds of a step by percentile (50, 90, 99), of the steps last kept.
      wait_percentiles: seconds of waiting, likewise.
    """

    steps: int
    seconds: float
    waiting: float | None
    first_seconds: float
    step_percentiles: dict[int, float]
    wait_percentiles: dict[int, float]

    @property
    def share(self) -> float | None:
        """The part of the steps' time that was waiting for input, 0 to 1; None if not seen."""
        if self.waiting is None:
            return None
        return self.waiting / self.seconds if self.seconds > 0 else 0.0

    def __str__(self) -> str:
        """One line for people."""
        if not self.step_percentiles:
            return f"input: {self.steps} steps, too few to tell what input took"
        told = [f"{self.steps} steps", f"step {_milliseconds(self.step_percentiles)}"]
        if self.share is None:
            told.append("waiting for input could not be seen")
        else:
            told[1:1] = [f"{self.share:.1%} of their time waiting for input"]
            told.append(f"wait {_milliseconds(self.wait_percentiles)}")
        told.append(f"first step {self.first_seconds:.2f} s")
        return f"input: {', '.join(told)}"


class StepTimes:
    """Seconds of each step, and of its waiting for input.

    Args:
      keep: how many steps are kept for percentiles; sums are of all.
    """

    def __init__(self, keep: int = 100_000) -> None:
        # Columns: seconds waiting, NaN where unknown, and seconds of the step.
        self._kept = np.full((keep, 2), np.nan)
        self.steps = 0
        self.seconds = 0.0
        self.waiting = 0.0
        self.seen = True
        self.first_seconds = 0.0
        self.first_steps = 0  # of the first execution

    def add(self, waiting: float | None, seconds: float, count: int = 1) -> None:
        """Notes one step, or the sums of `count` steps of one execution."""
        if self.steps == 0:
            self.first_seconds, self.first_steps = seconds, count
            self.steps = count
            return
        self.seconds += seconds
        if waiting is None:
            self.seen = False
            waiting = np.nan
        else:
            self.waiting += waiting
        for _ in range(count):
            row = self._kept[(self.steps - self.first_steps) % len(self._kept)]
            row[0] = waiting / count
            row[1] = seconds / count
            self.steps += 1

    def kept(self) -> np.ndarray:
        """Returns float64 [n, 2], seconds waiting and of the step, of the steps last kept."""
        count = self.steps - self.first_steps
        if count <= len(self._kept):
            return self._kept[:count].copy()
        return np.roll(self._kept, -(count % len(self._kept)), axis=0)

    def report(self) -> InputReport:
        """Returns what there is to tell so far."""
        kept = self.kept()
        waits, steps = ({}, {})
        if len(kept):
            steps = dict(zip(PERCENTILES, np.percentile(kept[:, 1], PERCENTILES), strict=True))
            if self.seen:
                waits = dict(zip(PERCENTILES, np.percentile(kept[:, 0], PERCENTILES), strict=True))
        return InputReport(
            steps=self.steps,
            seconds=self.seconds,
            waiting=self.waiting if self.seen else None,
            first_seconds=self.first_seconds,
            step_percentiles={at: float(value) for at, value in steps.items()},
            wait_percentiles={at: float(value) for at, value in waits.items()},
        )


def _milliseconds(percentiles: dict[int, float]) -> str:
    return ", ".join(f"p{at} {1000 * value:.2f} ms" for at, value in percentiles.items())
