"""Evaluations at checkpoints, throttled, each followed by its exporters.

The rules are those of tf.estimator.train_and_evaluate in one process: the checkpoint that training
begins with is passed over; the next one is evaluated, later ones when `throttle_secs` have passed
since the last evaluation began; the last step always. `start_delay_secs` counts for an evaluator
task alone.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from typing import Any, Protocol

from migration.loop.timing import Clock, Timer

__all__ = ["CheckpointListener", "Evaluation", "Evaluator", "folder_of"]

_log = logging.getLogger("estimator_io")


class CheckpointListener(Protocol):
    """What is told of checkpoints, like a tf.estimator.CheckpointSaverListener."""

    def begin(self) -> None:
        """Training begins."""
        ...

    def before_save(self, session: Any, global_step_value: int) -> Any:
        """A checkpoint will be written."""
        ...

    def after_save(self, session: Any, global_step_value: int) -> bool | None:
        """A checkpoint was written; returns True to end training."""
        ...

    def end(self, session: Any, global_step_value: int) -> None:
        """Training ends, its last checkpoint written."""
        ...


class Evaluation:
    """Evaluates the newest checkpoint for one EvalSpec, and hands it to the exporters.

    Args:
      estimator: an Estimator, or what stands for one: `model_dir`, `latest_checkpoint()`,
        `evaluate(…)` and `export_saved_model(…)`.
      spec: a tf.estimator.EvalSpec.
      max_steps: of the TrainSpec; the export at or beyond it is the final one.
    """

    def __init__(self, estimator: Any, spec: Any, max_steps: int | None) -> None:
        self._estimator = estimator
        self.spec = spec
        self._max_steps = max_steps
        self._evaluated: str | None = None
        self.result: tuple[dict[str, Any] | None, list[Any] | None] = (None, None)

    def run(self) -> bool:
        """Evaluates and exports; returns False where there is no new checkpoint."""
        checkpoint = self._estimator.latest_checkpoint()
        if checkpoint is None or checkpoint == self._evaluated:
            return False
        metrics = self._estimator.evaluate(
            input_fn=self.spec.input_fn,
            steps=self.spec.steps,
            name=self.spec.name,
            checkpoint_path=checkpoint,
            hooks=self.spec.hooks,
        )
        final = bool(self._max_steps) and metrics["global_step"] >= (self._max_steps or 0)
        self.result = (metrics, self._export(checkpoint, metrics, final))
        self._evaluated = checkpoint
        return True

    def _export(self, checkpoint: str, metrics: dict[str, Any], final: bool) -> list[Any]:
        base = os.path.join(str(self._estimator.model_dir), "export")
        return [
            exporter.export(
                estimator=self._estimator,
                export_path=os.path.join(base, exporter.name),
                checkpoint_path=checkpoint,
                eval_result=metrics,
                is_the_final_export=final,
            )
            for exporter in self.spec.exporters or ()
        ]


class Evaluator:
    """Runs evaluations when checkpoints are written: a listener.

    Args:
      evaluations: one for each EvalSpec; each has a throttle of its own.
      clock: what tells the time.
    """

    def __init__(self, evaluations: Sequence[Evaluation], clock: Clock) -> None:
        self._evaluations = evaluations
        self._clock = clock
        self._timers: list[Timer] = []
        self._first = True

    def begin(self) -> None:
        """Forgets when evaluations were made."""
        specs = [evaluation.spec for evaluation in self._evaluations]
        self._timers = [Timer(self._clock, every_secs=spec.throttle_secs) for spec in specs]
        self._first = True

    def before_save(self, session: Any, global_step_value: int) -> None:
        """Does nothing."""

    def after_save(self, session: Any, global_step_value: int) -> None:
        """Evaluates what is due, but not the checkpoint that training begins with."""
        del session
        if self._first:
            self._first = False
            return
        for evaluation, timer in zip(self._evaluations, self._timers, strict=True):
            if timer.due(global_step_value):
                timer.trigger(global_step_value)
                evaluation.run()
            else:
                _log.info(
                    "step %d is not evaluated%s: the last evaluation began less than %s s ago"
                    " (throttle_secs)",
                    global_step_value,
                    f" for {evaluation.spec.name!r}" if evaluation.spec.name else "",
                    evaluation.spec.throttle_secs,
                )

    def end(self, session: Any, global_step_value: int) -> None:
        """Evaluates the last step, where that was not done."""
        del session
        for evaluation, timer in zip(self._evaluations, self._timers, strict=True):
            if timer.last_step != global_step_value:
                timer.trigger(global_step_value)
                evaluation.run()


def folder_of(name: str | None) -> str:
    """Returns the folder in model_dir that holds the events of the evaluation `name`."""
    return f"eval_{name}" if name else "eval"
