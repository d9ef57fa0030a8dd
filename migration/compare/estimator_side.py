"""An Estimator that is trained step by step on given batches, in a folder of its own."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.compat import estimator_module
from estimator_io.errors import OptionError, SourceError
from migration.compare.batches import Batch
from migration.model_fn.engine import Engine
from migration.model_fn.feeding import spec_of

__all__ = ["EstimatorSide", "as_estimator"]

# What ends the names of the variables that v1 optimizers make, by the optimizer.
_SLOTS = {
    "Adam": "adam",
    "Adagrad": "adagrad",
    "Ftrl": "ftrl",
    "Momentum": "momentum",
    "RMSProp": "rmsprop",
    "Adadelta": "adadelta",
}


def as_estimator(
    estimator_or_checkpoint: Any,
    model_fn: Callable[..., Any] | None,
    params: Mapping[str, Any] | None,
    config: Any,
) -> tuple[Any, str | None]:
    """Returns an Estimator, and the checkpoint that it begins with (None for its initialisers).

    Args:
      estimator_or_checkpoint: an Estimator, a ModelFnModel, the prefix of a checkpoint, or a folder
        of checkpoints.
      model_fn: of a checkpoint.
      params: for the model_fn.
      config: a RunConfig for the model_fn.

    Raises:
      OptionError: a checkpoint without a model_fn, or a model_fn beside an Estimator.
      SourceError: there is no such checkpoint.
    """
    if not isinstance(estimator_or_checkpoint, (str, os.PathLike)):
        if model_fn is not None or params is not None or config is not None:
            raise OptionError(
                "model_fn, params and config belong to a checkpoint. Received: an Estimator, which"
                " has its own. Leave them out."
            )
        estimator = getattr(estimator_or_checkpoint, "estimator", estimator_or_checkpoint)
        if not hasattr(estimator, "model_fn"):
            raise OptionError(
                f"Received: {type(estimator).__name__}. Expected: an Estimator, the prefix of a"
                " checkpoint, or a folder of checkpoints."
            )
        return estimator, estimator.latest_checkpoint()
    path = os.fspath(estimator_or_checkpoint)
    if model_fn is None:
        raise OptionError(f"The checkpoint {path!r} needs model_fn=, whose variables it holds.")
    prefix = tf.train.latest_checkpoint(path) if os.path.isdir(path) else path
    if prefix is None:
        raise SourceError(f"There is no checkpoint in the folder {path!r}.")
    module = estimator_module()
    config = config or module.RunConfig(model_dir=os.path.dirname(prefix))
    estimator = module.Estimator(
        model_fn, config=config, params=None if params is None else dict(params)
    )
    return estimator, prefix


class EstimatorSide:
    """Drives a copy of an Estimator; the Estimator's own folder stays as it is.

    Args:
      estimator: whose model_fn, params and config count.
      checkpoint: the prefix of the checkpoint to begin with; None for the initialisers.
      first: a batch, for the specs of all.

    Attributes:
      notes: none.
      trainable: shapes by the names of the trainable variables, in the order of creation.
      others: likewise of variables that are neither trained nor an optimizer's.
      start_step: the global step of the checkpoint that training begins with.
      optimizer: which optimizer the slot variables tell: "adam", "adagrad", …; "sgd" without any.

      slots: least and largest starting value of the slot variables, by name.

    Raises:
      SourceError: the checkpoint is of another model.
    """

    def __init__(self, estimator: Any, checkpoint: str | None, first: Batch) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="migration-compare-")
        config = estimator.config.replace(
            model_dir=self._folder.name, save_checkpoints_secs=None, save_checkpoints_steps=None
        )
        self._first = first
        self._checkpoint = checkpoint
        self.trainable: dict[str, tuple[int, ...]] = {}
        self.others: dict[str, tuple[int, ...]] = {}
        self.optimizer = "sgd"
        self.start_step = 0
        self.slots: dict[str, tuple[float, float]] = {}
        self.notes: list[str] = []
        try:
            self._engine = Engine(
                estimator.model_fn,
                params=None,
                config=config,
                model_dir=None,
                warm_start_from=getattr(estimator, "_warm_start_settings", None),
                hooks=(),
            )
            if checkpoint is not None:
                self._engine.load(checkpoint)
            spec = spec_of(first.for_estimator())
            self._engine.begin("train", spec, watch=self._watch)
            start = self._engine.values()  # builds graph and session; takes no step
            self.start_step = int(start["global_step"])
            self.slots = {
                name: (float(value.min()), float(value.max()))
                for name, value in start.items()
                if _family(name) and value.size
            }
        except BaseException:
            self.close()
            raise

    def variables(self) -> dict[str, np.ndarray]:
        """Returns the values of all variables by name."""
        return self._engine.values()

    def predict(self, batches: Sequence[Batch]) -> list[dict[str, np.ndarray]]:
        """Returns the predictions of each batch, by name; "" where they are a bare array."""
        self._engine.begin("infer", spec_of(self._first.features))
        found: list[dict[str, np.ndarray]] = []
        try:
            for batch in batches:
                predictions = self._engine.step("infer", batch.features)
                named = predictions if isinstance(predictions, dict) else {"": predictions}
                found.append({name: np.array(value) for name, value in named.items()})
        finally:
            self._engine.abandon("infer")
        return found

    def evaluate(self, batches: Sequence[Batch]) -> tuple[list[float], dict[str, float]]:
        """Returns the loss of each batch, and the eval_metric_ops over all of them."""
        self._engine.begin("eval", spec_of(self._first.for_estimator()))
        try:
            losses = [
                float(self._engine.step("eval", batch.for_estimator())["loss"]) for batch in batches
            ]
            metrics = self._engine.finish("eval")
        finally:
            self._engine.abandon("eval")
        scalars = {name: value for name, value in metrics.items() if np.ndim(value) == 0}
        return losses, {
            name: float(value)
            for name, value in scalars.items()
            if name not in ("global_step", "loss")
        }

    def step(self, batch: Batch) -> tuple[float, dict[str, np.ndarray]]:
        """Takes a training step; returns the loss and the gradients by variable."""
        result = self._engine.step("train", batch.for_estimator())
        return float(result["loss"]), result["gradients"]

    def training_loss(self, batch: Batch) -> float:
        """Returns the training loss of a batch at the current variables, without a step."""
        return float(self._engine.look(lambda spec: spec.loss, batch.for_estimator()))

    def penalty(self) -> float:
        """Returns the sum of the collection REGULARIZATION_LOSSES at the current variables."""
        return float(self._engine.look(lambda _: self._penalty, self._first.for_estimator()))

    def varies(self, batch: Batch, *, training: bool) -> bool:
        """Whether two calls on the same batch with the same variables give different values."""
        if training:
            return self.training_loss(batch) != self.training_loss(batch)
        first, second = self.predict([batch, batch])
        return any(not np.array_equal(first[name], second[name]) for name in first)

    def save(self) -> str | None:
        """Returns a checkpoint of the current variables, until `close`."""
        return self._engine.save()

    def close(self) -> None:
        """Ends the training as an error would and removes the folder."""
        if hasattr(self, "_engine"):
            self._engine.abandon("train")
        self._folder.cleanup()

    def _watch(self, spec: Any) -> dict[str, Any]:
        v1 = tf.compat.v1
        trainable = v1.trainable_variables()
        everything = v1.global_variables()
        self._check_checkpoint(spec, everything)
        self._note_variables(trainable, everything)
        penalties = v1.losses.get_regularization_losses()
        self._penalty = tf.add_n(penalties) if penalties else tf.constant(0.0)
        gradients = tf.gradients(spec.loss, trainable)
        pairs = zip(trainable, gradients, strict=True)
        return {
            "gradients": {
                variable.op.name: tf.convert_to_tensor(gradient)
                for variable, gradient in pairs
                if gradient is not None
            }
        }

    def _note_variables(self, trainable: Sequence[Any], everything: Sequence[Any]) -> None:
        def shapes(variables: Sequence[Any]) -> dict[str, tuple[int, ...]]:
            return {v.op.name: tuple(v.shape.as_list()) for v in variables}

        self.trainable = shapes(trainable)
        names = {variable.op.name for variable in everything}
        others = [variable for variable in everything if variable.op.name not in self.trainable]

        def of_another(name: str) -> bool:
            # A slot or a moving average is named below the variable that it belongs to.
            return any(name.startswith(f"{other}/") for other in names) or "/" not in name

        self.others = shapes([v for v in others if not of_another(v.op.name)])
        found = [family for name in sorted(names) if (family := _family(name))]
        self.optimizer = found[0] if found else "sgd"

    def _check_checkpoint(self, spec: Any, everything: Sequence[Any]) -> None:
        if self._checkpoint is None or (spec.scaffold is not None and spec.scaffold.saver):
            return
        held = tf.train.load_checkpoint(self._checkpoint).get_variable_to_shape_map()
        for variable in everything:
            name, shape = variable.op.name, variable.shape.as_list()
            if held.get(name) != shape:
                raise SourceError(
                    f"The checkpoint {self._checkpoint!r} is of another model: its variable"
                    f" {name!r} has shape {held.get(name, 'none: it is not there')}. Expected:"
                    f" {shape}, as the model_fn makes it."
                )


def _family(name: str) -> str | None:
    return _SLOTS.get(name.rpartition("/")[2].rstrip("_0123456789"))
