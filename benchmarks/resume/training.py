"""One process of training under the Estimator, that notes the rows of its steps and may die."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
from typing import Any

import tensorflow as tf

from benchmarks.resume.cases import input_fn

__all__ = ["Life", "train"]

v1: Any = tf.compat.v1
STEPS_BETWEEN_CHECKPOINTS = 3


@dataclasses.dataclass(frozen=True)
class Life:
    """What happens to one process.

    Attributes:
      case: the pipeline.
      folder: holds the records, the model and the log.
      model: name of the model's folder in `folder`.
      batch_size: rows a batch.
      last_step: training ends when it is reached.
      dies_at: the global step at which the process is killed; None lets it live.
      within: whether it is killed in the middle of that step, rather than after it.
      recovers_at: the global step at which the session is lost and made anew; None for never.
      seconds: after which it is killed wherever it is, if it lives as long; None for never.
      number: of the life, among those of its model.
    """

    case: str
    folder: str
    model: str
    batch_size: int
    last_step: int
    dies_at: int | None = None
    within: bool = False
    recovers_at: int | None = None
    seconds: float | None = None
    number: int = 0

    def dies(self, step: int, *, within: bool) -> bool:
        """Whether the process is to be killed in the middle of global step `step`, or after it."""
        return step == self.dies_at and within == self.within

    @property
    def log(self) -> str:
        """The file of the rows: a line [global step before, rows] for each step that began."""
        return os.path.join(self.folder, self.model + ".log")

    @property
    def recovered(self) -> str:
        """The file that tells that the session was lost."""
        return os.path.join(self.folder, f"{self.model}.{self.number}.recovered")


def train(life: Life) -> None:
    """Trains under the Estimator until the life ends."""
    estimator_class: Any = tf.estimator.Estimator  # pyright: ignore[reportAttributeAccessIssue]
    config = tf.estimator.RunConfig(  # pyright: ignore[reportAttributeAccessIssue]
        save_checkpoints_steps=STEPS_BETWEEN_CHECKPOINTS,
        keep_checkpoint_max=2,
        save_summary_steps=None,
        log_step_count_steps=None,
    )
    folder = os.path.join(life.folder, life.model)
    estimator = estimator_class(_model_fn, folder, config, params={"life": life})
    fn = input_fn(life.case, life.folder, life.batch_size)
    estimator.train(fn, hooks=[_Fate(life)], max_steps=life.last_step)


def _model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
    del labels
    life: Life = params["life"]

    def note(step: Any, rows: Any) -> Any:
        append(life.log, [int(step), rows.tolist()])
        if life.dies(int(step), within=True):
            os.kill(os.getpid(), signal.SIGKILL)
        return rows

    step = v1.train.get_global_step()
    seen = tf.numpy_function(note, [step.read_value(), features], tf.int64)
    weight = v1.get_variable("weight", [], initializer=v1.zeros_initializer())
    with tf.control_dependencies([seen]):
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(weight, step)
    spec: Any = tf.estimator.EstimatorSpec  # pyright: ignore[reportAttributeAccessIssue]
    return spec(mode, loss=weight, train_op=train_op)


def append(path: str, line: Any) -> None:
    """Appends one line, in one write."""
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    os.write(descriptor, json.dumps(line).encode() + b"\n")
    os.close(descriptor)


class _Fate(v1.train.SessionRunHook):
    """Kills the process, or makes the session fail as a lost connection does."""

    def __init__(self, life: Life) -> None:
        self._life = life
        self._recovered = False

    def after_run(self, run_context: Any, run_values: Any) -> None:
        del run_context, run_values
        # A fetched global step may be read before or after the step moves it; the log is sure.
        with open(self._life.log, "rb") as file:
            step = json.loads(file.read().splitlines()[-1])[0]
        if self._life.dies(step, within=False):
            os.kill(os.getpid(), signal.SIGKILL)
        if step == self._life.recovers_at and not self._recovered:
            self._recovered = True
            open(self._life.recovered, "x").close()
            raise tf.errors.AbortedError(None, None, "the connection was lost")
