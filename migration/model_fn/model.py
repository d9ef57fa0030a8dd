"""A legacy model_fn as a keras.Model whose fit, evaluate and predict run the model_fn itself."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import ModeError, NoDataError, OptionError
from migration.fitting.endings import require_evaluation
from migration.model_fn.ahead import StepsAhead, Turn
from migration.model_fn.checking import cardinality_of, require_end, require_outside
from migration.model_fn.engine import Engine
from migration.model_fn.estimator_methods import EstimatorMethods, GlobalStep
from migration.model_fn.feeding import spec_of
from migration.model_fn.inputs import Inputs
from migration.model_fn.stepping import Ended

__all__ = ["ModelFnModel"]

_log = logging.getLogger("estimator_io")
# Not known to the type checker, since TensorFlow loads Keras lazily.
_Model: Any = tf.keras.Model
_Callback: Any = tf.keras.callbacks.Callback


class ModelFnModel(EstimatorMethods, _Model):
    """A keras.Model that trains, evaluates and predicts by the legacy `model_fn` it was given.

    Nothing is translated: behind `fit`, `evaluate` and `predict` the real Estimator runs in its own
    graph and session, held before each step until Keras hands over a batch. So the optimizer,
    update ops, global step, summaries, eval_metric_ops, training_hooks and scaffold of the model_fn
    all count, checkpoints and event files are written to `model_dir` as before, and training goes
    on from an Estimator's checkpoint of the same model_fn in `model_dir`.

    `fit`, `evaluate` and `predict` take what Keras takes, and input functions besides, which then
    run inside the Estimator's graph: no batch is copied, and an `InputFn` goes on at its position.
    A call of `fit` is one call of `Estimator.train` (with an input function and no steps_per_epoch,
    one for each epoch): hooks begin and end with it. Validation saves a checkpoint and evaluates
    it. The loss is reported as the Estimator does: in training that of the last step.

    The weights are the variables of the graph: `get_variable_value` and `get_weights` give them,
    and `save_weights` and `load_weights` write and read Estimator checkpoints. The model has no
    Keras layers or variables of its own.

    Example:
      >>> import numpy as np, tensorflow as tf
      >>> from estimator_io import compat
      >>> import migration
      >>> compat.install()
      >>> def model_fn(features, labels, mode):
      ...     v = tf.compat.v1
      ...     slope = v.get_variable("slope", [], initializer=v.zeros_initializer())
      ...     predictions = slope * features
      ...     if mode == tf.estimator.ModeKeys.PREDICT:
      ...         return tf.estimator.EstimatorSpec(mode, {"y": predictions})
      ...     loss = v.losses.mean_squared_error(labels, predictions)
      ...     step = v.train.get_global_step()
      ...     train_op = v.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
      ...     return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
      >>> model = migration.ModelFnModel(model_fn)
      >>> x = np.ones(8, np.float32)
      >>> history = model.fit(x, 2 * x, batch_size=4, epochs=5, verbose=0)
      >>> model.global_step
      10
      >>> round(float(model.get_variable_value("slope")), 3)
      1.785

    Args:
      model_fn: as `tf.estimator.Estimator` takes it: a function of features, and of any of labels,
        mode, params and config.
      params: handed to the model_fn; None where it takes none.
      config: a RunConfig; its model_dir, checkpoints, summaries and random seed count.
      model_dir: where checkpoints and events are kept, instead of `config.model_dir`; a temporary
        folder where neither is given.
      warm_start_from: as the Estimator takes it.
      hooks: SessionRunHooks of every call of `fit`.

    Raises:
      OptionError: the model_fn takes other arguments, or the config names a distribution strategy.
      ModeError: TensorFlow does not execute eagerly, which the loops of Keras need.
    """

    def __init__(
        self,
        model_fn: Callable[..., Any],
        params: Mapping[str, Any] | None = None,
        config: Any = None,
        *,
        model_dir: str | None = None,
        warm_start_from: Any = None,
        hooks: Sequence[Any] = (),
    ) -> None:
        if not tf.executing_eagerly():
            raise ModeError(
                "A ModelFnModel needs eager execution around its own graph. Received: a program"
                " that called disable_v2_behavior() or disable_eager_execution(). Take that call"
                " out; the model_fn still runs in a legacy graph."
            )
        super().__init__()
        self._engine = Engine(
            model_fn,
            params=params,
            config=config,
            model_dir=model_dir,
            warm_start_from=warm_start_from,
            hooks=hooks,
        )
        self._inputs = Inputs()
        self._losses: list[float] = []
        self._ahead = StepsAhead({}, False)
        self._trained = False  # whether this call of fit has taken a step
        self._call_per_epoch = False
        self._evaluation_name: str | None = None
        self.built = True
        super().compile(jit_compile=False)
        self._turn = Turn()
        if hasattr(self, "_steps_per_execution"):  # Keras 2
            self._steps_per_execution = self._turn
        self.optimizer = GlobalStep(self._engine)

    # -- the loops of Keras ----------------------------------------------------------------------

    def fit(self, x: Any = None, y: Any = None, **kwargs: Any) -> Any:
        """Trains as `keras.Model.fit` does; `x` and `validation_data` may be input functions.

        Returns:
          The History, whose "loss" is that of the last step of each epoch.
        """
        require_outside("fit", within_fit="train" in self._inputs.current)
        require_end(self._engine, x, kwargs)
        x = self._inputs.stand_in(x)
        kwargs["validation_data"] = self._inputs.stand_in(kwargs.get("validation_data"))
        self._inputs.current["train"] = x
        self._ahead = StepsAhead(kwargs, self._inputs.function_of(x) is not None)
        self._call_per_epoch = (
            self._inputs.function_of(x) is not None and kwargs.get("steps_per_epoch") is None
        )
        if self._call_per_epoch:
            kwargs["callbacks"] = [*_as_list(kwargs.get("callbacks")), _CallPerEpoch(self._engine)]
        self._trained = False
        try:
            with self._turn.of_one_step(), contextlib.suppress(_NothingTrained):
                super().fit(x, y, **kwargs)
            if self._engine.begun("train"):
                self._engine.finish("train")
        finally:
            self._engine.abandon("train")
            self._engine.detach_all()
            self._inputs.forget("train")
        return self.history

    def abandoning_hook(self) -> Any:
        """Returns a SessionRunHook that ends what runs within a call of `fit` that is given up."""
        return self._engine.abandoning_hook()

    def training_with(
        self, hooks: Sequence[Any], listeners: Sequence[Any]
    ) -> contextlib.AbstractContextManager[None]:
        """Calls of `fit` inside have more SessionRunHooks, and CheckpointSaverListeners."""
        return self._engine.training_with(hooks, listeners)

    def evaluate(self, x: Any = None, y: Any = None, **kwargs: Any) -> Any:
        """Evaluates as `keras.Model.evaluate` does, by the model_fn's eval_metric_ops.

        Args:
          x: batches as Keras takes them, or an input function.
          y: labels, as Keras takes them.
          **kwargs: as Keras takes them, and `name` of the evaluation: its events are written to
            `eval_NAME` in model_dir, as the Estimator does.

        Returns:
          The loss, the mean over the batches, and then the metrics: as a list, or as a dict by name
          with return_dict=True.

        Raises:
          NoDataError: there was no batch.
        """
        require_outside("evaluate")
        return_dict = kwargs.pop("return_dict", False)
        self._evaluation_name = kwargs.pop("name", None)
        if callable(x):
            batches = cardinality_of(self.estimator, x, "eval")
            require_evaluation(batches, kwargs.get("steps"), "steps")
        x = self._inputs.stand_in(x)
        self._inputs.current["eval"] = x
        self._losses.clear()
        try:
            with self._turn.of_one_step():
                super().evaluate(x, y, return_dict=True, **kwargs)
            if not self._losses:
                raise NoDataError("The evaluation had no batch. Expected: at least one.")
            metrics = self._engine.finish("eval")
        finally:
            self._engine.abandon("eval")
            self._inputs.forget("eval")
        del metrics["global_step"]
        named = {"loss": float(metrics.pop("loss")), **{k: metrics[k] for k in sorted(metrics)}}
        return named if return_dict else list(named.values())

    def predict(self, x: Any, **kwargs: Any) -> Any:
        """Predicts as `keras.Model.predict` does; `x` may be an input function.

        Returns:
          What the model_fn's EstimatorSpec has as predictions: an array of all rows, or a dict.
        """
        require_outside("predict")
        x = self._inputs.stand_in(x)
        self._inputs.current["infer"] = x
        try:
            with self._turn.of_one_step():
                predictions = super().predict(x, **kwargs)
            if self._engine.begun("infer"):
                self._engine.finish("infer")
        finally:
            self._engine.abandon("infer")
            self._inputs.forget("infer")
        return predictions

    def make_train_function(self, force: bool = False) -> Callable[[Any], Any]:
        """Returns what takes one training step; Keras calls it."""
        del force
        self.train_function = self._train_step
        return self._train_step

    def make_test_function(self, force: bool = False) -> Callable[[Any], Any]:
        """Returns what takes one step of an evaluation; Keras calls it."""
        del force
        self.test_function = self._test_step
        return self._test_step

    def make_predict_function(self, force: bool = False) -> Callable[[Any], Any]:
        """Returns what predicts one batch; Keras calls it."""
        del force
        self.predict_function = self._predict_step
        return self._predict_step

    def _train_step(self, iterator: Any) -> dict[str, Any]:
        steps = self._turn.steps
        logs = self._one_step(iterator)
        with contextlib.suppress(StopIteration):  # the steps before it count
            for _ in range(1, steps):
                if self.stop_training:
                    break
                logs = self._one_step(iterator)
        if self._ahead.any and getattr(self, "_steps_per_execution", None) is self._turn:
            self._turn.assign(self._engine.block("train"))
        return logs

    def _one_step(self, iterator: Any) -> dict[str, Any]:
        try:
            logs = self._step("train", iterator)
        except StopIteration:
            # Keras 2 fails without a step, Keras 3 goes on with epochs in which nothing happens.
            if not self._trained and self._engine.begun("train"):
                _log.warning("fit took no step: the input function gave no batch")
                raise _NothingTrained from None
            self.stop_training = self.stop_training or not self._call_per_epoch
            raise
        self._trained = True
        if self._engine.ended("train"):
            self.stop_training = True
        return logs

    def _test_step(self, iterator: Any) -> dict[str, Any]:
        self._losses.append(float(self._step("eval", iterator)["loss"]))
        return {"loss": float(np.mean(self._losses))}

    def _predict_step(self, iterator: Any) -> Any:
        return tf.nest.map_structure(tf.convert_to_tensor, self._step("infer", iterator))

    def _step(self, mode: str, iterator: Any) -> Any:
        function = self._inputs.function_of(self._inputs.current[mode])
        batch = _next_batch(iterator) if function is None else None
        if not self._engine.begun(mode):
            data = spec_of(batch) if function is None else function
            self._engine.begin(mode, data, name=self._evaluation_name if mode == "eval" else None)
        try:
            ahead = self._ahead.next() if mode == "train" else 0
            return self._engine.step(mode, batch, ahead=ahead)
        except Ended:
            raise StopIteration from None

    @property
    def metrics(self) -> list[Any]:
        """None of Keras's own: the model_fn's come with the result of `evaluate`."""
        return []

    def attach_hook(self, hook: Any) -> None:
        """Adds a SessionRunHook to this call of `fit`, before its first step; callbacks do so."""
        self._engine.attach(hook)

    # -- what has no meaning here ----------------------------------------------------------------

    def compile(self, *args: Any, **kwargs: Any) -> None:
        """Refuses: loss, optimizer and metrics are those of the model_fn."""
        del args, kwargs
        raise OptionError(
            "A ModelFnModel needs no compile(): loss, optimizer and metrics are the model_fn's own."
            " Take the call out, or change the model_fn."
        )

    def save(self, *args: Any, **kwargs: Any) -> None:
        """Refuses: a model_fn is no Keras model that could be written as one."""
        del args, kwargs
        raise OptionError(
            "A model_fn cannot be saved as a Keras model. For serving call"
            " export_saved_model(folder, serving_input_receiver_fn), for the weights"
            " save_weights(prefix); its checkpoints lie in model_dir."
        )

    def train_on_batch(self, *args: Any, **kwargs: Any) -> None:
        """Refuses: a step belongs to a call of fit, with which hooks begin and end."""
        del args, kwargs
        raise OptionError("A ModelFnModel trains by fit(…). For one batch give steps_per_epoch=1.")

    def call(self, *args: Any, **kwargs: Any) -> None:
        """Refuses: a model_fn has no forward pass of its own."""
        del args, kwargs
        raise OptionError("A ModelFnModel cannot be called like a layer. Use predict(…).")


class _NothingTrained(Exception):  # noqa: N818 (no error: as under the Estimator)
    """The input function had no batch for `fit`."""


class _CallPerEpoch(_Callback):
    """Ends a call of the Estimator before the next epoch, for which the input begins anew."""

    def __init__(self, engine: Engine) -> None:
        super().__init__()
        self._engine = engine

    def on_epoch_begin(self, epoch: int, logs: Any = None) -> None:
        """Ends the call of the epoch before, if there was one."""
        del epoch, logs
        if self._engine.begun("train"):
            self._engine.finish("train")


def _next_batch(iterator: Any) -> Any:
    # predict of Keras 3 hands over the batches of one execution instead of the iterator.
    return iterator[0] if isinstance(iterator, list) else next(iterator)


def _as_list(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    return list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
