"""What one case measured, and the ratios that follow from it."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from benchmarks.loaders.cases import Case
from benchmarks.loaders.loader_process import Reading
from benchmarks.pairs import Interval, median_of_ratios

__all__ = ["CaseResult", "Difference"]


@dataclasses.dataclass(frozen=True)
class Difference:
    """How far the values of two loaders are apart.

    Attributes:
      mean: mean absolute difference, in the unit of the features.
      greatest: greatest absolute difference.
      same_as: a loader of another package that gives exactly these values, if one does.
    """

    mean: float
    greatest: float
    same_as: str | None = None


@dataclasses.dataclass(frozen=True)
class CaseResult:
    """Every run of a case.

    Attributes:
      case: what was compared.
      missing: packages that kept a loader out, by loader.
      runs: by loader, one a pair.
      differences: by loader, from the first pipeline written by hand.
    """

    case: Case
    missing: dict[str, list[str]]
    runs: dict[str, list[Reading]]
    differences: dict[str, Difference]

    def rates(self, loader: str) -> list[float]:
        """Returns the rows a second of each pair."""
        return [run.rows / run.seconds for run in self.runs[loader]]

    def cpu(self, loader: str) -> list[float]:
        """Returns the CPU microseconds a row of each pair."""
        return [1e6 * run.cpu_seconds / run.rows for run in self.runs[loader]]

    def rate(self, loader: str) -> float:
        """Returns the median rate."""
        return float(np.median(self.rates(loader)))

    def best(self, loaders: tuple[str, ...]) -> str | None:
        """Returns the fastest of `loaders` by its median, as far as they ran."""
        return max((name for name in loaders if name in self.runs), key=self.rate, default=None)

    def speed(self, loader: str, against: str) -> Interval:
        """Returns how many times the rate of `against` the loader reached."""
        return median_of_ratios(self.rates(loader), self.rates(against))

    def cpu_speed(self, loader: str, against: str) -> Interval:
        """Returns how many times the rows of `against` a CPU second of the loader made."""
        return median_of_ratios(self.cpu(against), self.cpu(loader))

    def to_json(self) -> dict[str, Any]:
        """Returns the result as JSON values, with every raw number."""
        return dataclasses.asdict(self)

    @classmethod
    def from_json(cls, content: dict[str, Any]) -> CaseResult:
        """Returns the result that `to_json` was called on."""
        case: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in content["case"].items()
        }
        return cls(
            case=Case(**case),
            missing=content["missing"],
            runs={n: [Reading(**run) for run in runs] for n, runs in content["runs"].items()},
            differences={n: Difference(**d) for n, d in content["differences"].items()},
        )
