"""Watches whether training waits for its input, while it trains."""

from __future__ import annotations

import logging
import sys
from typing import Any, TextIO

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.hooks.step_times import InputReport, StepTimes
from estimator_io.hooks.step_watcher import StepWatcher
from estimator_io.hooks.steps import MOST, Steps

__all__ = ["InputMonitor"]

v1 = tf.compat.v1


class InputMonitor(StepWatcher):
    """Measures the seconds that each training step takes, and those it waits for input.

    Give it to the Estimator as a hook, or to `Model.fit` as a callback; it is both. Waiting is the
    time between asking the iterator for a batch and getting it. The step is all of the session's
    run, or of the call of the train function, waiting included; checkpoints, evaluations and other
    hooks are not counted. Where one call takes several steps (steps_per_execution), each counts as
    their mean. On a GPU a train function may return before the GPU is done, and its step then
    looks shorter than it is.

    At the end one line is written: the share of time that steps waited, percentiles, and the first
    step, which is kept apart. Once in a call a warning is logged: when over `warn_after` seconds
    more than `threshold` of the time was waiting. With `log_dir` TensorBoard shows
    `input/wait_seconds`, `input/step_seconds` (means) and `input/wait_share`.

    Example:
      >>> import estimator_io, io, numpy as np, tensorflow as tf
      >>> monitor = estimator_io.InputMonitor(stream=io.StringIO())
      >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> history = model.fit(np.ones((8, 1)), np.ones(8), 2, verbose=0, callbacks=[monitor])
      >>> monitor.report().steps
      4
      >>> monitor.times().shape  # seconds waiting and of the step; without the first step
      (3, 2)

    Args:
      log_dir: folder of the scalars, such as the Estimator's model_dir; None writes none.
      every_n_steps: how many steps one scalar stands for.
      threshold: the share of waiting, 0 to 1, from which on it is worth a warning.
      warn_after: seconds over which it is looked at.
      trace_steps: (first, last) step of the call, counted from 1 and both included, around which
        TensorBoard's profiler is run; needs `log_dir`.
      stream: where the last line goes; None is standard error.

    Raises:
      OptionError: a value that cannot be.
    """

    def __init__(
        self,
        *,
        log_dir: str | None = None,
        every_n_steps: int = 100,
        threshold: float = 0.10,
        warn_after: float = 60.0,
        trace_steps: tuple[int, int] | None = None,
        stream: TextIO | None = None,
    ) -> None:
        super().__init__()
        _check(log_dir, every_n_steps, threshold, warn_after, trace_steps)
        self._log_dir = log_dir
        self._every = every_n_steps
        self._threshold = threshold
        self._warn_after = warn_after
        self._trace_steps = trace_steps
        self._stream = stream
        self._warned = False
        self._tracing = False
        self._graph = tf.Graph()
        self._reset(0)

    def report(self) -> InputReport:
        """Returns sums and percentiles of the call of training so far, or of the last one."""
        self.catch_up()
        return self._times.report()

    def times(self) -> np.ndarray:
        """Returns float64 [n, 2]: seconds waiting and of the step, of up to 100,000 last steps.

        The first step of a call is not among them. Waiting is NaN where it could not be seen.
        """
        self.catch_up()
        return self._times.kept()

    # -- what StepWatcher calls ------------------------------------------------------------------

    def began(self, step: int, total: int | None) -> None:
        """Starts anew."""
        del total
        self._stop_trace()
        self._warned = False
        self._reset(step)

    def before_step(self) -> None:
        """Starts the profiler before the first step that is wanted."""
        if self._trace_steps is not None and not self._tracing:
            first, last = self._trace_steps
            if first <= self._times.steps + 1 <= last:
                self._start_trace()

    def steps_to_wait(self) -> int:
        """Returns after how many steps the profiler has to be started or stopped."""
        steps = self._times.steps
        first, last = self._trace_steps or (0, 0)
        return min([MOST, *(at - steps for at in (first - 1, last) if at > steps)])

    def after_steps(self, steps: Steps) -> None:
        """Notes steps, and now and then tells of them."""
        times = self._times
        for part in steps.cut(self._scalars_at(steps.counts)):
            times.add(part.waiting, part.seconds, part.counts)
            if times.seconds - self._looked_at[1] >= self._warn_after:
                self._look()
            if self._log_dir is not None and times.steps - self._written[0] >= self._every:
                self._write()
        if self._tracing and self._trace_steps and times.steps >= self._trace_steps[1]:
            self._stop_trace()

    def ended(self) -> None:
        """Writes what is left, and one line."""
        self._stop_trace()
        if self._log_dir is not None:
            self._write()
            self._writer().flush()
        print(self.report(), file=self._stream or sys.stderr, flush=True)

    # -- how it is told --------------------------------------------------------------------------

    def _reset(self, step: int) -> None:
        self._times = StepTimes()
        self._first_step = step
        self._looked_at = (0.0, 0.0)  # sums of waiting and seconds when last looked at
        self._written = (0, 0.0, 0.0)  # steps, and these sums, when last written

    def _scalars_at(self, counts: np.ndarray) -> list[int]:
        """Returns the numbers of executions after which scalars are to be written."""
        if self._log_dir is None:
            return []
        found, written = [], self._written[0]
        for number, steps in enumerate(self._times.steps + np.cumsum(counts), 1):
            if steps - written >= self._every:
                found.append(number)
                written = steps
        return found

    def _look(self) -> None:
        waiting = self._times.waiting - self._looked_at[0]
        seconds = self._times.seconds - self._looked_at[1]
        self._looked_at = (self._times.waiting, self._times.seconds)
        if self._warned or not self._times.seen or waiting <= self._threshold * seconds:
            return
        self._warned = True
        logging.getLogger("estimator_io").warning(
            "the last %.0f s of training steps waited for input %.0f %% of their time (more than"
            " %.0f %%): the input pipeline limits training. Ways out: parallel calls, a cache,"
            " worker processes, a smaller decode (docs/monitor.md). This is said once.",
            seconds,
            100 * waiting / seconds,
            100 * self._threshold,
        )

    def _write(self) -> None:
        times = self._times
        steps = times.steps - max(times.first_steps, self._written[0])
        waiting, seconds = times.waiting - self._written[1], times.seconds - self._written[2]
        self._written = (times.steps, times.waiting, times.seconds)
        if steps < 1:
            return
        scalars = {"input/step_seconds": seconds / steps}
        if times.seen:
            scalars["input/wait_seconds"] = waiting / steps
            scalars["input/wait_share"] = waiting / seconds if seconds > 0 else 0.0
        values = [v1.Summary.Value(tag=k, simple_value=v) for k, v in scalars.items()]
        self._writer().add_summary(v1.Summary(value=values), self._first_step + times.steps)

    def _writer(self) -> Any:
        with self._graph.as_default():  # made in eager execution it would refuse to work
            return v1.summary.FileWriterCache.get(self._log_dir)

    def _start_trace(self) -> None:
        try:
            tf.profiler.experimental.start(self._log_dir)
        except tf.errors.AlreadyExistsError:
            logging.getLogger("estimator_io").warning("no trace: another profile is being taken")
            self._trace_steps = None
        else:
            self._tracing = True

    def _stop_trace(self) -> None:
        if self._tracing:
            self._tracing = False
            tf.profiler.experimental.stop()


def _check(
    log_dir: str | None,
    every_n_steps: int,
    threshold: float,
    warn_after: float,
    trace_steps: tuple[int, int] | None,
) -> None:
    if every_n_steps < 1:
        raise OptionError(f"every_n_steps is no number of steps. Received: {every_n_steps!r}.")
    if not 0 < threshold < 1:
        raise OptionError(
            f"threshold is no share. Received: {threshold!r}. Expected: between 0 and 1, such as"
            " 0.1 for 10 %."
        )
    if warn_after <= 0:
        raise OptionError(f"warn_after is no time. Received: {warn_after!r}. Expected: seconds.")
    if trace_steps is None:
        return
    if len(trace_steps) != 2 or not 1 <= trace_steps[0] <= trace_steps[1]:
        raise OptionError(
            f"trace_steps is no range. Received: {trace_steps!r}. Expected: (first, last), counted"
            " from 1."
        )
    if log_dir is None:
        raise OptionError("trace_steps needs a folder for the trace: give log_dir.")
