"""`train_and_evaluate`: the loop of tf.estimator over model.fit."""

from __future__ import annotations

import logging
import tempfile
import time
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import ModeError, OptionError
from estimator_io.pipeline.shards import replicas_of
from migration.distribution.replicas import distributed
from migration.distribution.together import KeptCount, StopTogether
from migration.distribution.workers import Workers
from migration.fitting.batches import Batches
from migration.loop.checkpoints import CheckpointFolder, UnkeptCheckpoints
from migration.loop.evaluation import Evaluation, Evaluator
from migration.loop.evaluator_task import evaluate_until
from migration.loop.events import EventFolders, NoEvents
from migration.loop.hooks import callbacks_of, saver_hook_of
from migration.loop.keras_estimator import KerasEstimator
from migration.loop.keras_state import KerasState
from migration.loop.model_fn import train_model_fn
from migration.loop.reporting import ReportingCallback
from migration.loop.saving import CheckpointCallback
from migration.loop.specs import (
    check_train_spec,
    checked_eval_specs,
    nothing_to_do,
    saving_times,
)
from migration.loop.tasks import is_evaluator, require_trainable
from migration.loop.timing import Clock, Timer
from migration.model_fn.model import ModelFnModel
from migration.strategies import require_strategy

__all__ = ["train_and_evaluate"]

_log = logging.getLogger("estimator_io")
# Steps of a distributed Dataset that its end or a hook ends.
_ENDLESS = 2**31 - 1


def train_and_evaluate(
    model: Any,
    train_spec: Any,
    eval_spec: Any,
    config: Any = None,
    *,
    params: Mapping[str, Any] | None = None,
    callbacks: Sequence[Any] = (),
    weight_column: Any = None,
    label_vocabulary: Sequence[str] | None = None,
    loss_reduction: str = "sum_over_batch_size",
    clock: Clock = time,
) -> tuple[Any, Any]:
    """Trains and evaluates a Keras model as tf.estimator.train_and_evaluate does an Estimator.

    One call of `model.fit` trains up to `train_spec.max_steps`, counted over all calls on the same
    `config.model_dir`: it goes on from the newest checkpoint there, with the optimizer and, for an
    `InputFn`, at the row where it stood. Checkpoints are written when the config says, and are then
    evaluated: the first one always, later ones when `throttle_secs` have passed, the last step
    always. Exporters are called after each evaluation. The global step is the number of updates
    that `model.optimizer` counts.

    Hooks become callbacks (`to_callback`); saving listeners are told of checkpoints, without a
    session. Scalars are written to model_dir, `eval` and `eval_NAME`. In a task of type "evaluator"
    (TF_CONFIG) nothing is trained: what another process writes to model_dir is evaluated, after
    `start_delay_secs`, until max_steps. Several workers (MultiWorkerMirroredStrategy) train in
    step, the chief writes, and only an evaluator evaluates.

    Example:
      >>> import migration, numpy as np, tempfile, tensorflow as tf
      >>> from estimator_io import compat, input_fn
      >>> compat.install()
      >>> fn = input_fn(({"x": np.ones((8, 1), "f")}, np.ones(8, "f")), batch_size=4, seed=1)
      >>> x = tf.keras.Input((1,), name="x")
      >>> model = tf.keras.Model({"x": x}, tf.keras.layers.Dense(1)(x))
      >>> model.compile("sgd", "mse")
      >>> metrics, exports = migration.train_and_evaluate(
      ...     model,
      ...     tf.estimator.TrainSpec(fn, max_steps=10),
      ...     tf.estimator.EvalSpec(fn, steps=None),
      ...     tf.estimator.RunConfig(model_dir=tempfile.mkdtemp(), save_checkpoints_steps=5),
      ... )
      >>> sorted(metrics), int(metrics["global_step"])
      (['global_step', 'loss'], 10)

    Args:
      model: a compiled and built keras.Model, or a `ModelFnModel`.
      train_spec: a tf.estimator.TrainSpec; hooks may be callbacks too.
      eval_spec: a tf.estimator.EvalSpec, or a list of them with different names.
      config: a tf.estimator.RunConfig (docs/migrate.md tells what becomes of each field). A
        `ModelFnModel` has its own.
      params: for input functions that ask for them.
      callbacks: Keras callbacks besides.
      weight_column: the feature that holds sample weights; its name or a numeric_column.
      label_vocabulary: the labels of the classes 0, 1, …, where labels are strings.
      loss_reduction: that of the head which the model replaces, for training: "sum",
        "sum_by_nonzero_weights", "mean" or Keras's own "sum_over_batch_size".
      clock: what tells the time.

    Returns:
      (metrics, exports) of the last evaluation, as tf.estimator.train_and_evaluate returns them:
      metrics by name with "global_step", and what each exporter returned. (None, None) where
      max_steps was reached before, and in each of several workers. For a list of EvalSpecs, two
      dicts by name.

    Raises:
      OptionError: specs, config and model contradict each other.
      StructureError: features or labels do not fit the model.
      SourceError: an evaluation would never end, or the checkpoint is of another model.
      tf.estimator.NanLossDuringTrainingError: the loss became NaN.
    """
    if not tf.executing_eagerly():
        raise ModeError(
            "train_and_evaluate runs model.fit, which needs eager execution. Take"
            " disable_v2_behavior() or disable_eager_execution() out of the program."
        )
    check_train_spec(train_spec)
    specs = checked_eval_specs(eval_spec)
    if isinstance(model, ModelFnModel):
        _require_own(model, config, weight_column, label_vocabulary, params)
        evaluations = train_model_fn(model, train_spec, specs, callbacks, clock)
        return _result(evaluations, eval_spec)
    config = _default_config() if config is None else config
    require_strategy(model, config)
    batches = Batches(
        model,
        params=params,
        config=config,
        weight_column=weight_column,
        label_vocabulary=label_vocabulary,
        loss_reduction=loss_reduction,
    )
    loop = _KerasLoop(model, config, batches, params=params, clock=clock)
    try:
        evaluations = loop.run(train_spec, specs, callbacks)
    finally:
        loop.events.close()
    return _result(evaluations, eval_spec)


class _KerasLoop:
    """The parts of one call, put together."""

    def __init__(
        self,
        model: Any,
        config: Any,
        batches: Batches,
        *,
        params: Mapping[str, Any] | None,
        clock: Clock,
    ) -> None:
        model_dir = config.model_dir or tempfile.mkdtemp()
        if not config.model_dir:
            _log.warning("no model_dir in the config: checkpoints go to %s", model_dir)
        self._model, self._config, self._clock = model, config, clock
        self._workers = Workers(model.distribute_strategy)
        chief = self._workers.is_chief
        self._batches = batches
        self._state = KerasState(model)
        self._folder = (CheckpointFolder if chief else UnkeptCheckpoints)(
            model_dir,
            keep_max=config.keep_checkpoint_max,
            keep_every_n_hours=config.keep_checkpoint_every_n_hours,
            clock=clock,
        )
        self.events = (EventFolders if chief else NoEvents)(model_dir)
        self._estimator = KerasEstimator(
            self._state,
            self._folder,
            self.events,
            batches,
            config=config,
            params=params,
            clock=clock,
        )

    def run(self, train_spec: Any, specs: list[Any], callbacks: Sequence[Any]) -> list[Evaluation]:
        """Trains and evaluates, as far as the task of this process asks for it."""
        evaluations = [Evaluation(self._estimator, s, train_spec.max_steps) for s in specs]
        for spec in specs:
            self._batches.evaluation(spec.input_fn, spec.steps)  # its errors come before training
        if is_evaluator(self._config):
            evaluate_until(train_spec.max_steps, evaluations, self._clock)
            return evaluations
        require_trainable(self._config, self._workers.count)
        newest = self._folder.newest()
        if newest is not None:
            self._state.restore(newest)
        self._workers.require_same_step(self._state.global_step, self._folder.folder)
        if not nothing_to_do(train_spec, self._state.global_step, self._folder.folder):
            self._fit(train_spec, Evaluator(evaluations, self._clock), callbacks)
        return evaluations

    def _fit(self, train_spec: Any, evaluator: Evaluator, callbacks: Sequence[Any]) -> None:
        config, clock = self._config, self._clock
        saver = saver_hook_of(train_spec.hooks, self._folder.folder)
        saving = CheckpointCallback(
            self._state,
            self._folder,
            Timer(clock, **saving_times(config, saver)),
            self._listeners(saver, train_spec, evaluator),
            self._workers,
        )
        reporting = ReportingCallback(
            self._state,
            self.events,
            summary_steps=config.save_summary_steps,
            log_steps=config.log_step_count_steps,
            clock=clock,
        )
        hooks = callbacks_of(hook for hook in train_spec.hooks or () if hook is not saver)
        asking = [*hooks, *callbacks]
        together = [StopTogether(self._workers)] if asking and self._workers.count > 1 else []
        data, positions = self._data(train_spec)
        # The Estimator saves before it asks the hooks of the user; they may then stop.
        in_order = [saving, reporting, *positions, *asking, *together]
        if "steps_per_epoch" in data:
            in_order.insert(0, KeptCount())
        self._model.fit(**data, callbacks=in_order, shuffle=False, verbose=0)

    def _listeners(self, saver: Any, train_spec: Any, evaluator: Evaluator) -> list[Any]:
        """Returns what is told of checkpoints: in one process all, of several workers the chief's.

        The evaluator's evaluations would wait for workers that wait for the next step.
        """
        if not self._workers.is_chief:
            return []
        given = [*(saver._listeners if saver else ()), *(train_spec.saving_listeners or ())]
        if self._workers.count > 1:
            _log.info("checkpoints are evaluated by the task of type 'evaluator', if there is one")
            return given
        return [*given, evaluator]

    def _data(self, train_spec: Any) -> tuple[dict[str, Any], list[Any]]:
        """Returns x, and steps_per_epoch where Keras must be told, with the callbacks of the data.

        Keras cannot ask for the length of a distributed Dataset.
        """
        positions: list[Any] = []
        steps = None
        if train_spec.max_steps is not None:
            steps = train_spec.max_steps - self._state.global_step

        def make(context: Any) -> tf.data.Dataset:
            folder = self._folder.folder
            dataset, positions[:] = self._batches.train(train_spec.input_fn, folder, context)
            return self._limited(dataset, steps, replicas_of(context))

        x = distributed(self._model, make)
        if isinstance(x, tf.data.Dataset):
            return {"x": x}, positions
        length = _ENDLESS if steps is None else steps * self._state.batches_per_step
        return {"x": x, "steps_per_epoch": length}, positions

    def _limited(
        self, dataset: tf.data.Dataset, steps: int | None, replicas: int
    ) -> tf.data.Dataset:
        """Returns the Dataset that ends with the last step, whatever Keras makes of its length."""
        if steps is not None:
            dataset = dataset.take(steps * self._state.batches_per_step * replicas)
        if int(dataset.cardinality()) == tf.data.INFINITE_CARDINALITY:
            # Keras asks for steps_per_epoch where it knows that data is endless; a hook will stop.
            dataset = dataset.filter(lambda *_: True)
        return dataset


def _result(evaluations: list[Evaluation], eval_spec: Any) -> tuple[Any, Any]:
    if len(evaluations) == 1 and not isinstance(eval_spec, list):
        return evaluations[0].result
    named = {each.spec.name or "": each.result for each in evaluations}
    if all(metrics is None for metrics, _ in named.values()):
        return None, None
    metrics = {name: result[0] for name, result in named.items()}
    return metrics, {name: result[1] for name, result in named.items()}


def _default_config() -> Any:
    from estimator_io.compat import estimator_module

    return estimator_module().RunConfig()


def _require_own(model: ModelFnModel, config: Any, *others: Any) -> None:
    foreign = config is not None and config.model_dir not in (None, model.model_dir)
    if foreign or any(other is not None for other in others):
        raise OptionError(
            "A ModelFnModel has its own config and params, and its model_fn takes weights and"
            " labels as they come. Give them to ModelFnModel(model_fn, params, config), not to"
            " train_and_evaluate."
        )
