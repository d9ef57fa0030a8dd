"""Datasets of an Estimator's input functions as a given Keras model takes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError
from estimator_io.hooks.position import PositionCallback
from estimator_io.pipeline.input_fn import StagedInputFn
from migration.datasets import to_dataset
from migration.fitting.endings import require_evaluation
from migration.fitting.features import match_features
from migration.fitting.labels import match_labels
from migration.fitting.weights import check_reduction, column_name, require_weights, scaled
from migration.fitting.widths import require_labels

__all__ = ["Batches"]


class Batches:
    """Makes the Datasets of one model.

    Args:
      model: a keras.Model.
      params: of the input functions.
      config: a RunConfig for input functions that ask for it.
      weight_column: the feature that holds sample weights, by its name or as a numeric_column.
      label_vocabulary: the labels that the classes 0, 1, … stand for, where labels are strings.
      loss_reduction: of the head that the model replaces, in training; see `weights`.

    Raises:
      OptionError: an option has an impossible value.
    """

    def __init__(
        self,
        model: Any,
        *,
        params: Mapping[str, Any] | None = None,
        config: Any = None,
        weight_column: Any = None,
        label_vocabulary: Sequence[str] | None = None,
        loss_reduction: str = "sum_over_batch_size",
    ) -> None:
        check_reduction(loss_reduction)
        self._model = model
        self._params = params
        self._config = config
        self._weight_column = column_name(weight_column)
        self._vocabulary = label_vocabulary
        self._reduction = loss_reduction
        self._noted: set[str] = set()

    def train(
        self, input_fn: Any, model_dir: str | None, context: Any = None
    ) -> tuple[tf.data.Dataset, list[Any]]:
        """Returns the Dataset for training, and the callbacks that it needs.

        Args:
          input_fn: an `InputFn`, or a legacy input function.
          model_dir: where the position of an `InputFn` is kept; None begins with its first row.
          context: the InputContext of a strategy of several replicas.
        """
        continuing = None if model_dir is None else _continuing(input_fn, self._params)
        if model_dir is not None and continuing is not None:
            position = PositionCallback(continuing, model_dir)
            return self.fitted(position.dataset(context), "train"), [position]
        return self.fitted(self._dataset(input_fn, "train", context), "train"), []

    def evaluation(self, input_fn: Any, steps: int | None) -> tf.data.Dataset:
        """Returns the Dataset for one evaluation of at most `steps` batches.

        Raises:
          SourceError: steps is None, and the data never ends; or it is known to have no batch.
        """
        dataset = self.fitted(self._dataset(input_fn, "eval"), "eval")
        require_evaluation(int(dataset.cardinality()), steps)
        return dataset if steps is None else dataset.take(steps)

    def fitted(self, dataset: tf.data.Dataset, mode: str) -> tf.data.Dataset:
        """Returns the batches of `dataset` as the model takes them.

        Raises:
          StructureError: they do not fit the model; the message names the feature or label.
        """
        spec = dataset.element_spec
        parts: tuple[Any, ...] = spec if isinstance(spec, tuple) else (spec,)
        features_spec = parts[0]
        if len(parts) > 3:
            raise StructureError(
                f"The batches are tuples of {len(parts)}. Expected: features, (features, labels) or"
                " (features, labels, weights)."
            )
        require_weights(self._weight_column, features_spec)
        if len(parts) > 2 and self._weight_column is not None:
            raise StructureError(
                f"Weights stand both in the batches and in the feature {self._weight_column!r}."
                " Leave weight_column out."
            )
        noted = self._noted | {self._weight_column or ""}  # not dropped, but put elsewhere
        features_of = match_features(features_spec, self._model, noted)
        self._noted |= noted
        labels_of = None
        if len(parts) == 1 and mode == "train":
            require_labels(self._model)
        if len(parts) > 1:
            labels_of = match_labels(parts[1], self._model, self._noted, self._vocabulary)
        reduction = self._reduction if mode == "train" else "sum_over_batch_size"

        def fit(*batch: Any) -> Any:
            features = features_of(batch[0])
            if labels_of is None:
                return (features,)
            labels = labels_of(batch[1])
            weights = scaled(self._weights(batch), labels, reduction)
            return (features, labels) if weights is None else (features, labels, weights)

        fitted = dataset.map(fit, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
        return fitted.prefetch(tf.data.AUTOTUNE)

    def _weights(self, batch: tuple[Any, ...]) -> Any:
        if self._weight_column is not None:
            return tf.reshape(tf.cast(batch[0][self._weight_column], tf.float32), [-1])
        return batch[2] if len(batch) > 2 else None

    def _dataset(self, input_fn: Any, mode: str, context: Any = None) -> tf.data.Dataset:
        return to_dataset(
            input_fn, mode, params=self._params, config=self._config, input_context=context
        )


def _continuing(input_fn: Any, params: Mapping[str, Any] | None) -> StagedInputFn | None:
    """Returns the InputFn whose training goes on at its position; None for what starts over."""
    if not isinstance(input_fn, StagedInputFn) or input_fn.options.position == "restart":
        return None
    request = input_fn.request("train", params)
    if request.mode_blind:
        return None
    if input_fn.options.batch_size is None and request.batch_size is not None:
        return input_fn.replace(batch_size=request.batch_size)
    return input_fn
