"""One run's figures, each computed from the times that were taken."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from estimator_io.demo.step_clock import StepClock

__all__ = ["Measurement", "Steps"]


@dataclasses.dataclass(frozen=True)
class Steps:
    """The times of a run's training steps, float [steps], in seconds since the epoch.

    Attributes:
      begins: when each step asked for its batch.
      arrivals: when the batch was there.
      ends: when the step was done.
      rows: int [steps], the rows of each batch.
    """

    begins: np.ndarray
    arrivals: np.ndarray
    ends: np.ndarray
    rows: np.ndarray

    @classmethod
    def of(cls, clock: StepClock) -> Steps:
        """Returns the steps that `clock` has seen."""
        return cls(*map(np.array, (clock.begins, clock.arrivals, clock.ends, clock.rows)))

    def part(self, first: int, last: int) -> Steps:
        """Returns the steps from `first` up to `last`, this one not included."""
        return Steps(*(getattr(self, f.name)[first:last] for f in dataclasses.fields(self)))


@dataclasses.dataclass(frozen=True)
class Measurement:
    """What one run took and did.

    Attributes:
      scenario: "fixed" or "own": which step.
      variant: how the input_fn is written, and who trains.
      reader: what reads the recordings.
      wall_seconds: of the whole run: graph, steps, checkpoints, evaluations.
      steps: all training steps.
      timed: (first, last) of the steps that rates and shares are taken from.
      prepared: recordings read, whether a step used them or not; None where it cannot be counted.
      evaluated: rows that the evaluations used, each counted as often as it was used.
      accuracy: of the last evaluation; None where nothing is trained.
    """

    scenario: str
    variant: str
    reader: str
    wall_seconds: float
    steps: Steps
    timed: tuple[int, int]
    prepared: int | None
    evaluated: int
    accuracy: float | None

    @property
    def steps_per_second(self) -> float:
        """Steps a second, without evaluations and checkpoints."""
        return len(self._part.begins) / self._busy_seconds

    @property
    def rows_per_second(self) -> float:
        """Rows a second, likewise: batches need not have the same number of rows."""
        return float(self._part.rows.sum()) / self._busy_seconds

    @property
    def waiting_share(self) -> float:
        """The share of step time that went by before the batch was there."""
        waited = self._part.arrivals - self._part.begins
        return float(waited.sum() / (self._part.ends - self._part.begins).sum())

    @property
    def needed(self) -> int:
        """Rows that reached a training step or an evaluation."""
        return int(self.steps.rows.sum()) + self.evaluated

    def figures(self) -> dict[str, Any]:
        """Returns the figures, for JSON."""
        return {
            "scenario": self.scenario,
            "variant": self.variant,
            "reader": self.reader,
            "wall_seconds": round(self.wall_seconds, 3),
            "steps_per_second": round(self.steps_per_second, 2),
            "rows_per_second": round(self.rows_per_second, 1),
            "step_seconds": round(float(np.median(self._part.ends - self._part.arrivals)), 5),
            "waiting_share": round(self.waiting_share, 4),
            "elements_prepared": self.prepared,
            "elements_needed": self.needed,
            "elements_evaluated": self.evaluated,
            "accuracy": None if self.accuracy is None else round(self.accuracy, 4),
            "steps": len(self.steps.begins),
            "first_step_seconds": round(float(self.steps.ends[0] - self.steps.begins[0]), 3),
        }

    @property
    def _part(self) -> Steps:
        return self.steps.part(*self.timed)

    @property
    def _busy_seconds(self) -> float:
        """From step to step, less the pauses in which checkpoints and evaluations were made."""
        part = self._part
        pauses = part.begins[1:] - part.ends[:-1]
        ordinary = np.minimum(pauses, np.median(pauses) * 4) if len(pauses) else pauses
        return float((part.ends - part.begins).sum() + ordinary.sum())
