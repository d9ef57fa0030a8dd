"""How far two tensors are apart, at which element, and whether that is within the tolerance."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

__all__ = ["Difference", "Tolerance", "difference", "largest"]


@dataclasses.dataclass(frozen=True)
class Tolerance:
    """What counts as equal: `absolute difference <= atol + rtol * scale`.

    The scale is the largest absolute value of the two tensors (for gradients the global norm), so
    that an element that should be zero is not asked for a relative precision that float32 lacks.

    Attributes:
      rtol: relative to the scale.
      atol: in the unit of the values.
    """

    rtol: float
    atol: float


@dataclasses.dataclass(frozen=True)
class Difference:
    """The largest difference between two tensors.

    Attributes:
      quantity: what was compared: "loss", "gradient", "variable", "prediction", "metric", …
      tensor: its name on the Estimator's side; empty where there is only one.
      step: 0 before training, otherwise the number of the training step, counted from 1.
      element: the index of the element that differs most; () for scalars.
      estimator: its value there.
      model: the Keras model's value there.
      absolute: |estimator - model|.
      relative: absolute / scale, which is 0 where both are 0.
      equal: whether it is within the tolerance.
    """

    quantity: str
    tensor: str
    step: int
    element: tuple[int, ...]
    estimator: float
    model: float
    absolute: float
    relative: float
    equal: bool

    def __str__(self) -> str:
        """One line: where, both values, how far."""
        when = "before training" if self.step == 0 else f"at step {self.step}"
        at = f"[{', '.join(map(str, self.element))}]" if self.element else ""
        return (
            f"{self.quantity} {self.tensor}{at} {when}: Estimator {self.estimator:.9g}, model"
            f" {self.model:.9g}, absolute {self.absolute:.2e}, relative {self.relative:.2e}"
        ).replace("  ", " ")


def difference(
    quantity: str,
    tensor: str,
    step: int,
    values: tuple[Any, Any],
    tolerance: Tolerance,
    scale: float | None = None,
) -> Difference:
    """Returns the largest difference of two arrays of one shape: (Estimator's, model's).

    Values that are not finite are equal where both are the same one.
    """
    first, second = (np.asarray(value, np.float64) for value in values)
    apart = np.abs(first - second)
    same = (first == second) | (np.isnan(first) & np.isnan(second))
    apart = np.where(same, 0.0, np.where(np.isnan(apart), math.inf, apart))
    if not apart.size:
        return Difference(quantity, tensor, step, (), 0.0, 0.0, 0.0, 0.0, True)
    at = np.unravel_index(int(np.argmax(apart)), apart.shape)
    if scale is None:
        finite = np.abs(np.concatenate([first.ravel(), second.ravel()]))
        scale = float(np.max(finite[np.isfinite(finite)], initial=0.0))
    absolute = float(apart[at])
    return Difference(
        quantity,
        tensor,
        step,
        tuple(int(index) for index in at),
        float(first[at]),
        float(second[at]),
        absolute,
        absolute / scale if scale else (0.0 if absolute == 0 else math.inf),
        absolute <= tolerance.atol + tolerance.rtol * scale,
    )


def largest(differences: Iterable[Difference]) -> tuple[Difference, ...]:
    """Returns of each quantity and tensor the relatively largest difference, in their order."""
    found: dict[tuple[str, str, bool], Difference] = {}
    for each in differences:
        key = (each.quantity, each.tensor, each.step == 0)
        if key not in found or each.relative > found[key].relative:
            found[key] = each
    return tuple(found.values())
