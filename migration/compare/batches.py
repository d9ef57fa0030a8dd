"""The batches that both sides are fed: features, labels and weights."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import NoDataError, OptionError, StructureError

__all__ = ["Batch", "batches"]

_UNKNOWN = -2


@dataclasses.dataclass(frozen=True)
class Batch:
    """One batch of eager tensors.

    Attributes:
      features: a tensor or a dict of tensors, as the model_fn takes them.
      labels: likewise, or None.
      weights: the column of the features that weighs the rows, [batch] or [batch, 1], or None.
    """

    features: Any
    labels: Any
    weights: Any = None

    @property
    def rows(self) -> int:
        """Returns the number of rows."""
        first = tf.nest.flatten(self.features)[0]
        return int(first.nrows() if isinstance(first, tf.RaggedTensor) else first.shape[0])

    def for_estimator(self) -> Any:
        """Returns what an input function would give."""
        return self.features if self.labels is None else (self.features, self.labels)

    def weights_or_ones(self) -> np.ndarray:
        """Returns float64 weights [batch]."""
        if self.weights is None:
            return np.ones(self.rows)
        return np.asarray(self.weights, np.float64).reshape(-1)


def batches(dataset: tf.data.Dataset, steps: int, weight_column: str | None) -> Iterator[Batch]:
    """Returns the first `steps` batches, one at a time.

    Raises:
      OptionError: steps is no positive integer.
      NoDataError: the Dataset ends before; it is counted first, where its length is not known.
      StructureError: the batches are not features or (features, labels), or have no weight column.
    """
    if not isinstance(steps, int) or steps < 1:
        raise OptionError(f"steps must be a positive integer. Received: {steps!r}.")
    length = int(dataset.cardinality())
    if length == _UNKNOWN:
        length = int(dataset.take(steps).reduce(np.int64(0), lambda count, *_: count + 1))
    if 0 <= length < steps:
        raise NoDataError(
            f"input_fn ends after {length} batches, before the {steps} steps that compare() shall"
            f" take. Let it repeat, or give steps={length}."
        )
    return (_batch(element, weight_column) for element in itertools.islice(dataset, steps))


def _batch(element: Any, weight_column: str | None) -> Batch:
    if isinstance(element, tuple) and len(element) != 2:
        raise StructureError(
            f"input_fn gives tuples of {len(element)}. Expected: features, or (features, labels);"
            " weights stand among the features, under the name given as weight_column."
        )
    features, labels = element if isinstance(element, tuple) else (element, None)
    if weight_column is None:
        return Batch(features, labels)
    if not isinstance(features, dict) or weight_column not in features:
        names = sorted(features) if isinstance(features, dict) else type(features).__name__
        raise StructureError(
            f"There is no weight column {weight_column!r} among the features. Received: {names}."
        )
    return Batch(features, labels, features[weight_column])
