"""Input functions and Keras models under a strategy of several replicas."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from migration.distribution.workers import Workers

__all__ = ["distributed", "prepare"]


def distributed(model: Any, make: Callable[[Any], tf.data.Dataset]) -> Any:
    """Returns the batches of an input function as the Estimator would distribute them.

    The input function is called once in each process with an InputContext, and each of its batches
    goes to one replica; of an `InputFn` the batch_size is that of all replicas together.

    Args:
      model: a compiled keras.Model; Keras 3 is prepared for several workers.
      make: returns the Dataset for an InputContext; for None where there is one replica.

    Returns:
      The Dataset, or a distributed one where there are several replicas.
    """
    strategy = model.distribute_strategy
    if strategy.num_replicas_in_sync == 1:
        return make(None)
    specs: list[Any] = []

    def noting(context: Any) -> tf.data.Dataset:
        dataset = make(context)
        specs.append(dataset.element_spec)
        return dataset

    dataset = strategy.distribute_datasets_from_function(noting)
    prepare(model, specs[0])
    return dataset


def prepare(model: Any, element_spec: Any) -> None:
    """Lets fit run with several replicas and report the loss that they had together.

    Keras 2.15 adds up what the replicas report, although each reports the metrics of all: the loss
    would be too high by their number. The first one's is taken.

    Keras 3 (seen in 3.15) fails there twice, before and behind the first step. It hands the whole
    first batch to `strategy.reduce`, which takes one tensor and not a structure of features and
    labels, to learn what metrics must be built for; so they are built here, from `element_spec`.
    And it averages what a step returns along axis 0, which scalars do not have; so they are
    returned as vectors of one number, and the mean over the workers is what fit reports.

    Args:
      model: a compiled keras.Model.
      element_spec: of its batches: (features, labels) or (features, labels, weights).
    """
    if not hasattr(model, "_symbolic_build"):
        own = type(model).train_step is not tf.keras.Model.train_step
        if model.distribute_reduction_method == "auto" and not own:
            model.distribute_reduction_method = "first"
        return
    if _is_prepared(model):
        return
    with model.distribute_strategy.scope():
        model._symbolic_build(data_batch=element_spec)
    if Workers(model.distribute_strategy).count == 1:
        return
    # Past Keras's own __setattr__, which would look for variables in them.
    object.__setattr__(model, "_maybe_symbolic_build", lambda *_, **__: None)
    for name in ("train_step", "test_step"):
        object.__setattr__(model, name, _with_vectors(getattr(model, name)))
    model.train_function = model.test_function = None


def _is_prepared(model: Any) -> bool:
    return "_maybe_symbolic_build" in vars(model)


def _with_vectors(step: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(step)
    def stepping(data: Any) -> Any:
        return tf.nest.map_structure(
            lambda value: tf.reshape(value, [1]) if value.shape.rank == 0 else value, step(data)
        )

    return stepping
