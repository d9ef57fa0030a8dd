"""Row weights, where each consumer looks for them: the Estimator among the features."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError
from estimator_io.pipeline.structure import spell

__all__ = ["weights_into_features"]


def weights_into_features(dataset: tf.data.Dataset, key: str) -> tf.data.Dataset:
    """Returns `dataset` with (features, labels, weights) as ({…, key: weights}, labels).

    Raises:
      StructureError: the features are no dict, or have a feature of that name already.
    """
    spec = dataset.element_spec
    if not (isinstance(spec, tuple) and len(spec) == 3):
        return dataset
    if not isinstance(spec[0], Mapping):
        raise StructureError(
            "The Estimator takes weights as one of the features, and the features are no dict."
            f" Received: {spell(spec[0])}. Expected: a dict such as {{'x': features}}. Name the"
            " features in parse."
        )
    if key in spec[0]:
        raise StructureError(
            f"The features have a {key!r} already, so the weights need another name. Give"
            " weight_key=…, and the same name as weight_column to the Estimator."
        )

    def move(features: Any, labels: Any, weights: Any) -> Any:
        return {**features, key: weights}, labels

    return dataset.map(move).prefetch(1)
