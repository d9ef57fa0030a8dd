"""The learning rate, and Adam's epsilon, that the updates of one side follow.

The rules are those of TensorFlow and Keras, g the gradient and d the change of a variable:

    gradient descent   d = -r g
    Adagrad            d = -r g / sqrt(a + sum of g²)
    Adam, first step   d = -r g / (|g| + e / sqrt(1 - beta_2))

Adam's later steps follow from the recursion of its two moments, with beta_1 = 0.9 and
beta_2 = 0.999 (Kingma and Ba 2015, in the form before section 2.1, which both libraries have).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

from migration.compare.evidence import Updates

__all__ = ["BETA_2", "Rates", "adam_fit", "rates_of"]

BETA_1, BETA_2 = 0.9, 0.999
# The spacing of float32 numbers relative to their size: variables are known to half of it.
SPACING = 2.0**-23


@dataclasses.dataclass(frozen=True)
class Rates:
    """The learning rate that each step of one side followed."""

    values: np.ndarray

    @property
    def constant(self) -> bool:
        """Whether it is one rate for all steps."""
        return bool(np.ptp(self.values) <= 1e-2 * abs(float(self.values[0])))

    def __str__(self) -> str:
        """The rate, or those of the first steps."""
        if self.constant:
            return f"{self.values[0]:.4g}"
        return ", ".join(f"{rate:.4g}" for rate in self.values[:5])


def rates_of(updates: Updates, accumulator: float) -> np.ndarray:
    """Returns the learning rate of each step, up to the first that cannot be told.

    Args:
      updates: of one side.
      accumulator: what Adagrad's accumulators begin with.
    """
    rates: list[float] = []
    for step, direction in enumerate(_directions(updates, accumulator)):
        rate = _rate(updates, step, direction)
        if rate is None:
            break
        rates.append(rate)
    return np.array(rates)


def _directions(updates: Updates, accumulator: float) -> Sequence[np.ndarray]:
    """Returns what each step multiplies by the learning rate."""
    gradients = updates.gradients
    if updates.optimizer == "adagrad":
        sums = accumulator + np.cumsum(np.square(gradients), axis=0)
        return [g / np.sqrt(s) for g, s in zip(gradients, sums, strict=True)]
    if updates.optimizer == "adam":
        fit = adam_fit(updates)
        return [] if fit is None else _adam_directions(gradients, max(fit[1], 0.0))
    # Momentum adds nothing at the first step, and the others are not followed beyond it.
    return gradients if updates.optimizer == "sgd" else gradients[:1]


def _adam_directions(gradients: Sequence[np.ndarray], epsilon: float) -> list[np.ndarray]:
    first, second = np.zeros_like(gradients[0]), np.zeros_like(gradients[0])
    found = []
    for step, gradient in enumerate(gradients, 1):
        first = BETA_1 * first + (1 - BETA_1) * gradient
        second = BETA_2 * second + (1 - BETA_2) * gradient**2
        scale = np.sqrt(1 - BETA_2**step) / (1 - BETA_1**step)
        found.append(scale * first / (np.sqrt(second) + epsilon + 1e-30))
    return found


def _rate(updates: Updates, step: int, direction: np.ndarray) -> float | None:
    """Returns the learning rate of a step; None where the elements do not agree on one."""
    before, after = updates.values[step], updates.values[step + 1]
    known = _visible(before, after) & (direction != 0)
    if np.count_nonzero(known) < 2:
        return None
    rates = (before - after)[known] / direction[known]
    rate = float(np.median(rates))
    agreed = np.median(np.abs(rates - rate)) <= 1e-2 * abs(rate)
    return rate if agreed and rate > 0 else None


def adam_fit(updates: Updates) -> tuple[float, float] | None:
    """Returns learning rate and epsilon of the first update; None where it is not Adam's."""
    gradient, change = np.abs(updates.gradients[0]), np.abs(updates.values[1] - updates.values[0])
    known = _visible(updates.values[0], updates.values[1]) & (gradient > 0)
    if np.count_nonzero(known) < 8:
        return None
    gradient, change = gradient[known], change[known]
    slowness = gradient / change  # (|g| + e') / r, a line over |g| whose noise is relative
    design = np.stack([gradient / slowness, 1 / slowness], axis=1)
    (slope, intercept), *_ = np.linalg.lstsq(design, np.ones(len(gradient)), rcond=None)
    residual = np.median(np.abs(design @ (slope, intercept) - 1))
    if residual > 1e-2 or slope <= 0:
        return None
    return float(1 / slope), float(intercept / slope * np.sqrt(1 - BETA_2))


def _visible(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Which elements changed by so much that rounding of the variable is 1 % of it at most."""
    size = np.maximum(np.abs(before), np.abs(after))
    return np.abs(after - before) > 100 * SPACING * size
