"""What one case measured, and the ratios that follow from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.overlap.cases import Case
from benchmarks.pairs import Interval, median_of_ratios

__all__ = ["CaseResult", "Run"]


@dataclasses.dataclass(frozen=True)
class Run:
    """One run of one variant.

    Attributes:
      first: seconds from the call of train to the end of the first step.
      whole: mean seconds a step from the call to the last step's end.
      steady: mean seconds a step in whole epochs behind the first one.
      steady_cpu: CPU seconds that the process used for such a step, on all cores.
      ends: seconds from the call to the end of each step; without a step, of each batch.
    """

    first: float
    whole: float
    steady: float
    steady_cpu: float
    ends: tuple[float, ...]


@dataclasses.dataclass(frozen=True)
class CaseResult:
    """Every run of a case.

    Attributes:
      case: what was compared.
      row_seconds: what one thread took for a row, as calibrated: wanted, and measured again.
      amount: the repetitions, or seconds of waiting, that gave this cost.
      calls_alone: calls at once at which the preparation alone was fastest.
      runs: by variant, one a pair; "step" is the step alone, "alone" the preparation alone.
    """

    case: Case
    row_seconds: tuple[float, float]
    amount: float
    calls_alone: int
    runs: dict[str, list[Run]]

    def steady(self, variant: str) -> list[float]:
        """Returns the steady seconds a step of each pair; "limit" is what was possible."""
        if variant != "limit":
            return [run.steady for run in self.runs[variant]]
        steps = self.steady("step")
        if self.case.waits:
            return steps
        return [max(pair) for pair in zip(steps, self.steady("alone"), strict=True)]

    def milliseconds(self, variant: str) -> float:
        """Returns the median length of a steady step, in milliseconds."""
        return 1e3 * float(np.median(self.steady(variant)))

    def first(self, variant: str) -> float:
        """Returns the median seconds from the call of train to the end of the first step."""
        return float(np.median([run.first for run in self.runs[variant]]))

    def speed(self, variant: str, against: str) -> Interval:
        """Returns how many times the steady rate of `against` the variant reached."""
        return median_of_ratios(self.steady(against), self.steady(variant))

    def speed_from_call(self, variant: str, against: str) -> Interval:
        """Returns the same over the whole run, building and the first batch included."""
        return median_of_ratios(
            [run.whole for run in self.runs[against]], [run.whole for run in self.runs[variant]]
        )

    @property
    def share_of_possible(self) -> float:
        """The library's gain over the script as written, divided by the greatest possible gain."""
        gained = self.speed("library", "as_written").median
        return gained / self.speed("limit", "as_written").median

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values, with every raw number."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> CaseResult:
        """Returns the result that `to_json` was called on."""
        return cls(
            case=Case(**content["case"]),
            row_seconds=tuple(content["row_seconds"]),
            amount=content["amount"],
            calls_alone=content["calls_alone"],
            runs={name: _runs(runs) for name, runs in content["runs"].items()},
        )


def _runs(content: Sequence[dict[str, Any]]) -> list[Run]:
    return [Run(**{**run, "ends": tuple(run["ends"])}) for run in content]
