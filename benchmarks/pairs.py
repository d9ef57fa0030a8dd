"""Paired runs: every variant once a pair, in rotating order, and what the ratios then say.

A shared machine drifts by more than most differences worth knowing. Variants that ran a moment
apart share the drift, so the ratio within a pair is steady where the rates themselves are not.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import numpy as np

__all__ = ["Interval", "median_of_ratios", "rotations", "run_pairs"]

Result = TypeVar("Result")

RESAMPLES = 10_000


@dataclasses.dataclass(frozen=True)
class Interval:
    """A median with the interval that holds it in 95 of 100 repetitions.

    Attributes:
      median: of the values.
      low: the 2.5 % quantile of the medians of resampled values.
      high: the 97.5 % quantile.
    """

    median: float
    low: float
    high: float

    def __str__(self) -> str:
        """The median, then the interval."""
        return f"{self.median:.2f} ({self.low:.2f} to {self.high:.2f})"


def rotations(names: Sequence[str], pairs: int) -> Iterator[list[str]]:
    """Yields the order of the variants for each pair, so that each comes first equally often.

    Every second round runs backwards, so that no variant always follows the same other one.
    """
    for pair in range(pairs):
        at = pair % len(names)
        order = [*names[at:], *names[:at]]
        yield order if (pair // len(names)) % 2 == 0 else order[::-1]


def run_pairs(
    variants: dict[str, Callable[[], Result]],
    pairs: int,
    progress: Callable[[int, str], None] = lambda pair, name: None,
) -> dict[str, list[Result]]:
    """Runs every variant once a pair.

    Args:
      variants: what to run, by name.
      pairs: how often to run each.
      progress: called with the pair's number and the variant's name before each run.

    Returns:
      The results of each variant, in the order of the pairs.
    """
    results: dict[str, list[Result]] = {name: [] for name in variants}
    for pair, order in enumerate(rotations(list(variants), pairs)):
        for name in order:
            progress(pair, name)
            results[name].append(variants[name]())
    return results


def median_of_ratios(
    numerators: Sequence[float], denominators: Sequence[float], *, seed: int = 0
) -> Interval:
    """Returns the median of the paired ratios with its 95 % interval, by the bootstrap.

    Pairs are drawn with replacement (Efron's percentile bootstrap), so nothing is assumed about
    how the ratios are spread.

    Args:
      numerators: one value a pair.
      denominators: likewise, from the same pairs; none is 0.
      seed: of the resampling; the same seed gives the same interval.

    Raises:
      ValueError: there is no pair, or the two are of different length.
    """
    if len(numerators) != len(denominators) or not len(numerators):
        raise ValueError(
            f"Expected: as many numerators as denominators, at least one. Received:"
            f" {len(numerators)} and {len(denominators)}."
        )
    ratios = np.asarray(numerators, float) / np.asarray(denominators, float)
    generator = np.random.default_rng(seed)
    draws = generator.choice(ratios, size=(RESAMPLES, len(ratios)))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return Interval(float(np.median(ratios)), float(low), float(high))
