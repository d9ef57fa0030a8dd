"""TrainSpec and EvalSpec as the arguments of model.fit."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.pipeline.input_fn import StagedInputFn
from migration.distribution.replicas import distributed
from migration.distribution.together import KeptCount
from migration.fitting.batches import Batches
from migration.loop.hooks import callbacks_of
from migration.loop.keras_state import updates_of
from migration.loop.specs import check_train_spec, checked_eval_specs

__all__ = ["fit_arguments"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback
_log = logging.getLogger("estimator_io")
# Epochs of a training that a hook or the data ends.
_ENDLESS = 2**31 - 1


def fit_arguments(
    train_spec: Any,
    eval_spec: Any = None,
    model: Any = None,
    *,
    config: Any = None,
    params: Mapping[str, Any] | None = None,
    steps_per_epoch: int | None = None,
    repeat: bool = True,
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = "sum_over_batch_size",
) -> dict[str, Any]:
    """Returns arguments of `model.fit` under which it takes the steps that the specs ask for.

    `epochs * steps_per_epoch` covers `max_steps`, and training ends with exactly that step, as
    `model.optimizer` counts them: a model that was restored takes the steps that are left. Each
    epoch is followed by a validation of at most `eval_spec.steps` batches; there may be fewer.

    Example:
      >>> import migration, numpy as np, tensorflow as tf
      >>> from estimator_io import compat, input_fn
      >>> compat.install()
      >>> fn = input_fn(({"x": np.ones((8, 1), "f")}, np.ones(8, "f")), batch_size=4, seed=1)
      >>> x = tf.keras.Input((1,), name="x")
      >>> model = tf.keras.Model({"x": x}, tf.keras.layers.Dense(1)(x))
      >>> model.compile("sgd", "mse")
      >>> arguments = migration.fit_arguments(
      ...     tf.estimator.TrainSpec(fn, max_steps=10),
      ...     tf.estimator.EvalSpec(fn, steps=None),
      ...     model,
      ...     steps_per_epoch=4,
      ... )
      >>> arguments["steps_per_epoch"], arguments["epochs"]
      (4, 3)
      >>> history = model.fit(verbose=0, **arguments)
      >>> int(model.optimizer.iterations), len(history.history["val_loss"])
      (10, 3)

    Args:
      train_spec: a tf.estimator.TrainSpec.
      eval_spec: a tf.estimator.EvalSpec, or None.
      model: the keras.Model that will be fitted; features and labels are then matched to it by
        name. None leaves them as they are. Under a strategy of several replicas the data is
        distributed as the Estimator would; Keras 3 is prepared for several workers.
      config: a RunConfig: `save_checkpoints_steps` serves as steps_per_epoch, and an `InputFn` goes
        on at its position in `model_dir`.
      params: for input functions that ask for them.
      steps_per_epoch: steps between two validations; by default those between two checkpoints, or
        else all in one epoch.
      repeat: whether finite data begins anew until max_steps; False ends training with the data, as
        the Estimator does, in one epoch.
      weight_column: the feature that holds sample weights; its name or a numeric_column.
      label_vocabulary: the labels of the classes 0, 1, …, where labels are strings.
      loss_reduction: that of the head which the model replaces, for training: "sum",
        "sum_by_nonzero_weights", "mean" or Keras's own "sum_over_batch_size".

    Returns:
      {"x", "epochs", "steps_per_epoch", "validation_data", "validation_steps", "callbacks"};
      validation_steps is None, since the Dataset itself ends after `eval_spec.steps`: Keras 2
      reports nothing of a validation that is shorter than its validation_steps.

    Raises:
      OptionError: the specs contradict each other, or training would never end.
      StructureError: features or labels do not fit the model; the message names them.
      SourceError: the validation would never end.
    """
    check_train_spec(train_spec)
    max_steps, input_fn = train_spec.max_steps, train_spec.input_fn
    if max_steps is not None and repeat and isinstance(input_fn, StagedInputFn):
        input_fn = input_fn.replace(epochs=None)
    batches = Batches(
        model,
        params=params,
        config=config,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
    )
    again = max_steps is not None and repeat
    x, dataset, callbacks = _training(batches, input_fn, model, config, again)
    hooks = callbacks_of(train_spec.hooks)
    steps = steps_per_epoch or getattr(config, "save_checkpoints_steps", None)
    length = _length(dataset, max_steps, steps, model, bool(hooks))
    if x is not dataset:  # the length of a distributed Dataset must be said
        length["steps_per_epoch"] = length["steps_per_epoch"] or _ENDLESS
        callbacks.insert(0, KeptCount())
    if max_steps is not None:
        callbacks.append(StopAtMaxSteps(max_steps))
    return {
        "x": x,
        **length,
        "validation_data": _validation(batches, eval_spec),
        "validation_steps": None,
        "callbacks": [*callbacks, *hooks],
    }


class StopAtMaxSteps(_Callback):
    """Ends training with the step `max_steps`, as the optimizer counts them.

    Args:
      max_steps: the last step.
    """

    def __init__(self, max_steps: int) -> None:
        super().__init__()
        self._max_steps = max_steps

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Ends training where the step is reached."""
        del batch, logs
        if updates_of(self.model) >= self._max_steps:
            self.model.stop_training = True


def _training(
    batches: Batches, input_fn: Any, model: Any, config: Any, again: bool
) -> tuple[Any, tf.data.Dataset, list[Any]]:
    """Returns what fit is given, the Dataset of one process in it, and the callbacks it needs."""
    datasets: list[tf.data.Dataset] = []
    callbacks: list[Any] = []

    def make(context: Any) -> tf.data.Dataset:
        model_dir = getattr(config, "model_dir", None)
        dataset, callbacks[:] = batches.train(input_fn, model_dir, context)
        if again and not _is_endless(dataset):
            dataset = dataset.repeat()
        datasets.append(dataset)
        return dataset

    x = make(None) if model is None else distributed(model, make)
    return x, datasets[0], callbacks


def _length(
    dataset: tf.data.Dataset, max_steps: int | None, steps: int | None, model: Any, hooked: bool
) -> dict[str, int | None]:
    """Returns epochs and steps_per_epoch.

    Finite data makes one epoch: of data that runs out within an epoch Keras 2 makes the end of
    training, and Keras 3 a shorter epoch.
    """
    if not _is_endless(dataset):
        return {"epochs": 1, "steps_per_epoch": None}
    if max_steps is not None:
        known = getattr(getattr(model, "optimizer", None), "iterations", None) is not None
        left = max_steps - (updates_of(model) if known else 0)
        if left <= 0:
            _log.warning("nothing to do: max_steps=%d, and the model is as far", max_steps)
            return {"epochs": 0, "steps_per_epoch": max_steps}
        steps = min(steps or left, left)
        return {"epochs": -(-left // steps), "steps_per_epoch": steps}
    if not hooked:
        raise OptionError(
            "Training would never end: max_steps is None, the data is endless, and no hook stops"
            " it. Set TrainSpec(max_steps=…)."
        )
    if steps is None:
        raise OptionError(
            "The data is endless and max_steps is None, so steps_per_epoch must be given: the steps"
            " between two validations."
        )
    return {"epochs": _ENDLESS, "steps_per_epoch": steps}


def _validation(batches: Batches, eval_spec: Any) -> tf.data.Dataset | None:
    if eval_spec is None:
        return None
    specs = checked_eval_specs(eval_spec)
    if len(specs) > 1:
        raise OptionError(
            f"fit validates on one data set. Received: {len(specs)} EvalSpecs. Give one of them, or"
            " call migration.train_and_evaluate, which takes them all."
        )
    return batches.evaluation(specs[0].input_fn, specs[0].steps)


def _is_endless(dataset: tf.data.Dataset) -> bool:
    return int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY
