"""How long steps took and how long they waited for input: kept, summed up and told."""

from __future__ import annotations

import dataclasses

import numpy as np

__all__ = ["InputReport", "StepTimes"]

PERCENTILES = (50, 90, 99)
UNSEEN = 0.01  # of the steps, whose waiting may stay unknown


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
        self._unseen = 0  # steps
        self.first_seconds = 0.0
        self.first_steps = 0  # of the first execution

    def add(self, waiting: np.ndarray, seconds: np.ndarray, counts: np.ndarray) -> None:
        """Notes executions: float64 [n] each, NaN where waiting is unknown, and steps of each."""
        if self.steps == 0 and len(seconds):
            self.first_seconds, self.first_steps = float(seconds[0]), int(counts[0])
            self.steps = self.first_steps
            waiting, seconds, counts = waiting[1:], seconds[1:], counts[1:]
        self.seconds += float(seconds.sum())
        self.waiting += float(np.nansum(waiting))
        self._unseen += int(counts[np.isnan(waiting)].sum())
        rows = np.stack([waiting, seconds], 1)
        if np.any(counts > 1):
            rows = np.repeat(rows / counts[:, None], counts, 0)
        at = self.steps - self.first_steps + np.arange(len(rows))
        self._kept[at[-len(self._kept) :] % len(self._kept)] = rows[-len(self._kept) :]
        self.steps += len(rows)

    @property
    def seen(self) -> bool:
        """Whether waiting could be seen; a clock that was set meanwhile may hide a few steps."""
        return self._unseen <= UNSEEN * (self.steps - self.first_steps)

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
                waits = dict(
                    zip(PERCENTILES, np.nanpercentile(kept[:, 0], PERCENTILES), strict=True)
                )
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
