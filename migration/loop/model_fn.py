"""The loop for a ModelFnModel: the Estimator saves, and is then asked to evaluate and export."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from migration.loop.checkpoints import step_of
from migration.loop.evaluation import Evaluation, Evaluator
from migration.loop.evaluator_task import evaluate_until
from migration.loop.hooks import saver_hook_of
from migration.loop.specs import nothing_to_do, saving_times
from migration.loop.tasks import is_evaluator, require_local
from migration.loop.timing import Clock
from migration.model_fn.checking import check_evaluation
from migration.model_fn.model import ModelFnModel

__all__ = ["train_model_fn"]


def train_model_fn(
    model: ModelFnModel,
    train_spec: Any,
    specs: Sequence[Any],
    callbacks: Sequence[Any],
    clock: Clock,
) -> list[Evaluation]:
    """Trains and evaluates by the model_fn; arguments as of `train_and_evaluate`.

    Checkpoints and summaries are written by the Estimator, whose clock is that of the machine;
    `clock` counts for throttle_secs.
    """
    estimator = model.estimator
    saving_times(estimator.config, saver_hook_of(train_spec.hooks, estimator.model_dir))
    for spec in specs:
        check_evaluation(estimator, spec)
    watched = [_interruptible(spec, model) for spec in specs]
    evaluations = [Evaluation(estimator, spec, train_spec.max_steps) for spec in watched]
    if is_evaluator(estimator.config):
        evaluate_until(train_spec.max_steps, evaluations, clock)
        return evaluations
    require_local(estimator.config)
    newest = estimator.latest_checkpoint()
    if nothing_to_do(train_spec, step_of(newest) if newest else 0, estimator.model_dir):
        return evaluations
    hooks = list(train_spec.hooks or ())
    if train_spec.max_steps is not None:
        hooks.append(tf.compat.v1.train.StopAtStepHook(last_step=train_spec.max_steps))
    listeners = [*(train_spec.saving_listeners or ()), _Listener(Evaluator(evaluations, clock))]
    with model.training_with(hooks, listeners):
        model.fit(train_spec.input_fn, shuffle=False, verbose=0, callbacks=list(callbacks))
    return evaluations


def _interruptible(spec: Any, model: ModelFnModel) -> Any:
    """Returns the EvalSpec with a hook that ends its evaluation where training is abandoned."""
    return spec._replace(hooks=(*(spec.hooks or ()), model.abandoning_hook()))


class _Listener(tf.compat.v1.train.CheckpointSaverListener):
    """Tells an `Evaluator` of the Estimator's checkpoints."""

    def __init__(self, evaluator: Evaluator) -> None:
        self._evaluator = evaluator

    def begin(self) -> None:
        """Training begins."""
        self._evaluator.begin()

    def after_save(self, session: Any, global_step_value: int) -> None:
        """A checkpoint was written."""
        self._evaluator.after_save(session, int(global_step_value))

    def end(self, session: Any, global_step_value: int) -> None:
        """The last checkpoint was written."""
        self._evaluator.end(session, int(global_step_value))
