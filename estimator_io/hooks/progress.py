"""A bar on the terminal while training runs."""

from __future__ import annotations

import os
import sys
import time
from typing import Any, TextIO

import numpy as np
from tqdm import tqdm

from estimator_io.hooks.step_watcher import StepWatcher
from estimator_io.hooks.steps import Steps

__all__ = ["ProgressHook"]


_USUAL_WIDTH = 80  # columns


class _Bar(tqdm):
    monitor_interval = 0  # no thread that watches a bar which moves all the time


class ProgressHook(StepWatcher):
    """Shows steps, steps per second, the loss and the share of time that steps wait for input.

    A hook for the Estimator and a callback for `Model.fit` (with verbose=0) in one. Where the
    stream is no terminal it shows nothing, measures nothing and adds nothing to the graph.

    Example:
      >>> import estimator_io, io, numpy as np, tensorflow as tf
      >>> progress = estimator_io.ProgressHook(stream=io.StringIO())  # no terminal: quiet
      >>> model = tf.keras.Sequential([tf.keras.layers.Dense(1)])
      >>> model.compile("sgd", "mse")
      >>> history = model.fit(np.ones((8, 1)), np.ones(8), verbose=0, callbacks=[progress])

    Args:
      total_steps: the global step at which training will end, such as max_steps; None shows no
        end, but under fit where Keras knows it.
      stream: where the bar is drawn; None is standard error.
      refresh_seconds: how often loss and waiting are read anew.
    """

    needs_loss = True

    def __init__(
        self,
        total_steps: int | None = None,
        *,
        stream: TextIO | None = None,
        refresh_seconds: float = 0.5,
    ) -> None:
        super().__init__()
        self._total = total_steps
        self._stream = sys.stderr if stream is None else stream
        self.seconds_to_wait = refresh_seconds
        self._bar: _Bar | None = None

    @property
    def _quiet(self) -> bool:
        return not self._stream.isatty()

    def began(self, step: int, total: int | None) -> None:
        """Draws the bar."""
        self._close()
        if self._total is not None:
            total = self._total
        elif total is not None:
            total += step
        wide = _has_width(self._stream)
        self._bar = _Bar(
            total=total,
            initial=step,
            unit="step",
            file=self._stream,
            ncols=None if wide else _USUAL_WIDTH,
            dynamic_ncols=wide,
            smoothing=0.1,
        )
        self._told, self._sums, self._seen = time.monotonic(), np.zeros(2), False

    def after_steps(self, steps: Steps) -> None:
        """Moves it."""
        if self._bar is None:
            return
        self._sums += (np.nansum(steps.waiting), steps.seconds.sum())
        self._seen = self._seen or not np.isnan(steps.waiting).all()
        if time.monotonic() - self._told >= self.seconds_to_wait:
            self._told = time.monotonic()
            self._bar.set_postfix_str(self._postfix(steps), refresh=False)
            self._sums[:] = 0.0
        self._bar.update(int(steps.counts.sum()))

    def ended(self) -> None:
        """Leaves the finished bar on the terminal."""
        self._close()

    def _postfix(self, steps: Steps) -> str:
        told, loss = [], steps.loss()
        if loss is not None:
            told.append(f"loss {loss:.4g}")
        if self._seen and self._sums[1] > 0:
            told.append(f"input wait {self._sums[0] / self._sums[1]:.0%}")
        return ", ".join(told)

    def _close(self) -> None:
        if self._bar is not None:
            self._bar.close()
            self._bar = None

    # -- nothing at all where nobody looks -------------------------------------------------------

    def begin(self) -> None:
        """Adds the operations that take the times, on a terminal."""
        if not self._quiet:
            super().begin()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Draws the bar, on a terminal."""
        if not self._quiet:
            super().after_create_session(session, coord)

    def before_run(self, run_context: Any) -> Any:
        """Starts a step, on a terminal."""
        return None if self._quiet else super().before_run(run_context)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends it, on a terminal."""
        if not self._quiet:
            super().after_run(run_context, run_values)

    def on_train_begin(self, logs: Any = None) -> None:
        """Stands around the train function, on a terminal."""
        if not self._quiet:
            super().on_train_begin(logs)


def _has_width(stream: TextIO) -> bool:
    """Tells whether a terminal knows its width; those of containers and of CI may have none."""
    try:
        return os.get_terminal_size(stream.fileno()).columns > 0
    except (OSError, ValueError):  # no file behind it
        return True
