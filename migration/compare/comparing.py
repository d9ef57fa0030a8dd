"""`compare`: an Estimator and a Keras model on the same batches, step by step."""

from __future__ import annotations

import contextlib
import importlib.metadata
import itertools
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import ModeError, OptionError
from migration.compare import causes
from migration.compare.batches import Batch, batches
from migration.compare.differences import Tolerance, largest
from migration.compare.estimator_side import EstimatorSide, as_estimator
from migration.compare.evidence import Cause
from migration.compare.keras_side import KerasSide
from migration.compare.result import Comparison
from migration.compare.running import Run
from migration.datasets import to_dataset

__all__ = ["compare"]

# Batches that are kept in memory for predictions and evaluations.
KEPT = 4


def compare(
    estimator_or_checkpoint: Any,
    model: Any,
    input_fn: Any,
    steps: int = 50,
    *,
    model_fn: Callable[..., Any] | None = None,
    params: Mapping[str, Any] | None = None,
    config: Any = None,
    variables: Mapping[str, str] | None = None,
    predictions: str | Mapping[str, str] | None = None,
    metrics: Mapping[str, str] | None = None,
    weight_column: str | None = None,
    start: str = "copy",
    rtol: float = 1e-5,
    atol: float = 1e-6,
) -> Comparison:
    """Feeds an Estimator and a Keras model the same batches and tells where they part, and why.

    Both make predictions and are evaluated on the first batches, take `steps` training steps, one
    batch at a time, and are evaluated again. After every step losses, gradients (of the loss,
    before any clipping) and variables are compared. Nothing is left behind: the Estimator is
    trained in a temporary folder, and the model's weights and optimizer are put back.

    Args:
      estimator_or_checkpoint: an Estimator, or a checkpoint: its prefix or a folder of checkpoints,
        with its `model_fn`. Training begins with the newest checkpoint, or where there is none with
        the model_fn's initialisers.
      model: a compiled keras.Model, or a `ModelFnModel`.
      input_fn: an `InputFn`, or any input function that returns a Dataset; called in training mode.
      steps: how many batches to train on.
      model_fn: of a checkpoint; not of an Estimator, which has its own.
      params: likewise.
      config: likewise; a RunConfig.
      variables: the model's path for a name of the Estimator's. Others are paired by equal names,
        or by shape in the order of creation, which is noted.
      predictions: which of the Estimator's predictions the model's output stands for; not needed
        where names or shapes say it.
      metrics: the model's metric for a name of the Estimator's, where the names differ.
      weight_column: the feature that weighs the rows; Keras is given it as sample_weight.
      start: "copy" gives the model the Estimator's starting values of all variables; "own" leaves
        it its own, to see whether both begin alike.
      rtol: the tolerance, relative to the largest value of a tensor.
      atol: the tolerance, absolute.

    Returns:
      A `Comparison`: `equal`, `parting`, `causes`, `text()`, `to_json()`, `save_picture(path)`.

    Raises:
      OptionError: an impossible argument; variables or predictions that cannot be paired.
      SourceError: there is no such checkpoint, or it is of another model.
      NoDataError: input_fn ends before `steps`.
      StructureError: the model's inputs are no features.
      ModeError: TensorFlow does not execute eagerly.

    Example:
      >>> import numpy as np, tensorflow as tf
      >>> from estimator_io import compat
      >>> import migration
      >>> compat.install()
      >>> def model_fn(features, labels, mode):
      ...     v1 = tf.compat.v1
      ...     kernel = v1.get_variable("line/kernel", [1, 1], initializer=v1.ones_initializer())
      ...     bias = v1.get_variable("line/bias", [1], initializer=v1.zeros_initializer())
      ...     y = tf.matmul(features["x"], kernel) + bias
      ...     if mode == "infer":
      ...         return tf.estimator.EstimatorSpec(mode, {"y": y})
      ...     loss = v1.losses.mean_squared_error(labels, y)
      ...     optimizer = v1.train.GradientDescentOptimizer(0.1)
      ...     train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
      ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
      >>> x = tf.keras.Input((1,), name="x")
      >>> twin = tf.keras.Model({"x": x}, tf.keras.layers.Dense(1)(x))
      >>> twin.compile(tf.keras.optimizers.SGD(0.2), "mse")
      >>> rows = np.arange(4, dtype=np.float32)[:, None] / 4
      >>> def input_fn():
      ...     return tf.data.Dataset.from_tensors(({"x": rows}, 2 * rows)).repeat()
      >>> found = migration.compare(tf.estimator.Estimator(model_fn), twin, input_fn, steps=3)
      >>> found.equal, found.parting.quantity, found.parting.step
      (False, 'variable', 1)
      >>> print(found.causes[0].name)
      learning rate
    """
    if not tf.executing_eagerly():
        raise ModeError(
            "compare() needs eager execution around the Estimator's own graph. Received: a program"
            " that called disable_v2_behavior() or disable_eager_execution(). Compare in a program"
            " of its own."
        )
    if start not in ("copy", "own"):
        raise OptionError(f"start must be 'copy' or 'own'. Received: {start!r}.")
    estimator, checkpoint = as_estimator(estimator_or_checkpoint, model_fn, params, config)
    dataset = to_dataset(input_fn, "train", params=estimator.params, config=estimator.config)
    stream = batches(dataset, steps, weight_column)
    kept = list(itertools.islice(stream, KEPT))
    with contextlib.ExitStack() as stack:
        side = stack.enter_context(
            contextlib.closing(EstimatorSide(estimator, checkpoint, kept[0]))
        )
        twin = stack.enter_context(contextlib.closing(_twin(model, side, kept[0], start)))
        run = Run(side, twin, Tolerance(rtol, atol), variables, predictions, metrics)
        run.start(kept, copy=start == "copy" and isinstance(twin, KerasSide))
        early = causes.at_start(run.evidence) if run.parting else []
        run.train(itertools.chain(kept, stream))
        run.finish(kept)
        late = causes.in_training(run.evidence) if run.parting else []
        return _result(run, [*early, *late])


def _twin(model: Any, side: EstimatorSide, first: Batch, start: str) -> Any:
    if not hasattr(model, "estimator"):
        return KerasSide(model, first)
    # A ModelFnModel is driven as its fit drives it.
    estimator, checkpoint = as_estimator(model, None, None, None)
    return EstimatorSide(estimator, side.save() if start == "copy" else checkpoint, first)


def _result(run: Run, found: list[Cause]) -> Comparison:
    unique = {cause.name: cause for cause in reversed(found)}
    return Comparison(
        equal=run.parting is None,
        steps=len(run.losses),
        start_step=run.start_step,
        tolerance=run.tolerance,
        parting=run.parting,
        causes=tuple(reversed(unique.values())),
        differences=largest(run.differences),
        losses=tuple(run.losses),
        gradient_norms=tuple(run.norms),
        metrics=run.metrics,
        variables=tuple(run.pairs),
        notes=tuple(run.notes),
        versions={"TensorFlow": tf.__version__, "Keras": _keras_version()},
    )


def _keras_version() -> str:
    package = str(tf.keras.Model.__module__).partition(".")[0]  # keras, or tf_keras
    return importlib.metadata.version(package)
