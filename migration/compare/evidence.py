"""What was measured, as the tests of the known causes read it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from migration.compare.batches import Batch
from migration.compare.pairing import Pair

if TYPE_CHECKING:
    from migration.compare.estimator_side import EstimatorSide
    from migration.compare.keras_side import KerasSide

__all__ = ["Cause", "Evidence", "Losses", "Sample", "Updates", "close"]

SAMPLED = 4096
# Predictions that are made of the same numbers agree to this, relative to their largest value.
AGREEMENT = 1e-5


@dataclasses.dataclass(frozen=True)
class Cause:
    """A known cause that the numbers speak for.

    Attributes:
      name: of the table in docs/migrate.md.
      evidence: what was measured.
      remedy: what to change.
    """

    name: str
    evidence: str
    remedy: str

    def __str__(self) -> str:
        """One line."""
        return f"{self.name}: {self.evidence} {self.remedy}"


@dataclasses.dataclass(frozen=True)
class Losses:
    """Losses of some batches at equal weights, and what they were made from.

    Attributes:
      batches: the batches.
      estimator: the Estimator's loss of each, float64 [batches].
      model: the model's, likewise.
      outputs: the model's only output for each batch; empty where it has several.
      penalties: the regularisation losses of both sides.
    """

    batches: Sequence[Batch]
    estimator: np.ndarray
    model: np.ndarray
    outputs: Sequence[np.ndarray]
    penalties: tuple[float, float]


@dataclasses.dataclass
class Updates:
    """Sampled elements of the trained variables of one side, at every step.

    Attributes:
      optimizer: the family: "sgd", "momentum", "adam", "adagrad", …
      values: float64 [elements] before the first step and after every step.
      gradients: float64 [elements] of every step.
      norms: the global norm of the gradients of every step.
    """

    optimizer: str
    values: list[np.ndarray] = dataclasses.field(default_factory=list)
    gradients: list[np.ndarray] = dataclasses.field(default_factory=list)
    norms: list[float] = dataclasses.field(default_factory=list)


class Sample:
    """Picks the same elements of the trained variables on both sides, spread over all of them.

    Args:
      sizes: the number of elements of each variable, by name, in a fixed order.
    """

    def __init__(self, sizes: Mapping[str, int]) -> None:
        stride = max(1, -(-sum(sizes.values()) // SAMPLED))
        self._indices = {name: np.arange(0, size, stride) for name, size in sizes.items()}

    def of(self, values: Mapping[str, np.ndarray]) -> np.ndarray:
        """Returns the elements; 0 for variables that are not among the values."""
        picked = [
            np.asarray(values[name], np.float64).reshape(-1)[at]
            if name in values
            else np.zeros(len(at))
            for name, at in self._indices.items()
        ]
        return np.concatenate(picked) if picked else np.zeros(0)


@dataclasses.dataclass
class Evidence:
    """Everything that a test of a cause may look at.

    Attributes:
      estimator: the Estimator's side, between two steps.
      model: the model's side; tests at the start may change weights for a moment.
      pairs: which variable is which.
      kept: the first batches.
      predictions: predictions of the kept batches at the start, pairs of arrays by prediction.
      evaluation: losses of the kept batches in evaluation at the start, or None.
      training: the losses of the first training step, or None.
      updates: the Estimator's and the model's.
      first: variables of both sides before the first step and after it, by the Estimator's name.
      first_gradients: gradients of both sides at the first step, likewise.
      copied: whether the model was given the Estimator's starting values.
    """

    estimator: EstimatorSide
    model: KerasSide
    pairs: Sequence[Pair]
    kept: Sequence[Batch]
    copied: bool
    predictions: Sequence[Mapping[str, tuple[np.ndarray, np.ndarray]]] = ()
    evaluation: Losses | None = None
    training: Losses | None = None
    updates: tuple[Updates, Updates] | None = None
    first: Mapping[str, tuple[tuple[Any, Any], tuple[Any, Any]]] = dataclasses.field(
        default_factory=dict
    )
    first_gradients: Mapping[str, tuple[Any, Any]] = dataclasses.field(default_factory=dict)

    @property
    def predictions_differ(self) -> bool:
        """Whether the predictions at the start are apart by more than rounding."""
        return any(not close(*pair) for pairs in self.predictions for pair in pairs.values())


def close(value: np.ndarray, other: np.ndarray) -> bool:
    """Whether two predictions are equal but for rounding; those that are no numbers are passed."""
    if value.dtype.kind not in "fiub" or value.shape != other.shape:
        return value.shape == other.shape
    scale = max(float(np.max(np.abs(value), initial=0)), 1e-12)
    return bool(np.allclose(value, other, rtol=0, atol=AGREEMENT * scale))
