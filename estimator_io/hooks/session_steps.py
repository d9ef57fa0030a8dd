"""The steps of a session, as a hook that watches them learns of them."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.hooks.graph_stamps import GraphStamps
from estimator_io.hooks.steps import CLOCK, StepListener, Steps, waits_of
from estimator_io.hooks.timed_iterator import WaitClock

__all__ = ["SessionSteps"]


class SessionSteps:
    """Tells a listener of steps, many at a time: reading the graph's stamps is a run of its own.

    Args:
      listener: who is told.
      stamps: what the graph notes.
      session: the one that steps run in, without hooks.

      outside: the clock of whoever asks for batches outside of the graph and feeds them.
    """

    def __init__(
        self,
        listener: StepListener,
        stamps: GraphStamps,
        session: Any,
        outside: WaitClock | None = None,
    ) -> None:
        self._outside = outside
        self._listener = listener
        self._stamps = stamps
        self._session = session
        self._steps: list[tuple[float, float, float]] = []  # began, ended, waited outside
        self._most = 1
        self._due = 0.0
        self._telling = False
        self._began = 0.0
        self._fed = (0.0, 0.0)  # seconds waited outside, and batches

    def begin(self) -> bool:
        """Starts a step; returns whether the listener is told of it as soon as it is over."""
        self._listener.before_step()
        self._began = began = time.time()
        self._telling = len(self._steps) + 1 >= self._most or began >= self._due
        return self._telling

    def end(self, loss: Any) -> None:
        """Ends it; `loss` is what was fetched where the listener is told of it, or None."""
        ended = time.time()
        waited = 0.0 if self._outside is None else self._waited_outside(self._outside)
        self._steps.append((self._began, ended, waited))
        if self._telling:
            self.tell(loss)

    def tell(self, loss: Any = None) -> None:
        """Tells the listener of the steps that it was not told of yet."""
        if not self._steps:
            return
        began, ended, outside = np.transpose(self._steps)
        self._steps = []
        try:
            requests, done = self._stamps.read(self._session)
        except (RuntimeError, tf.errors.OpError):  # the session is closed or lost, with its stamps
            return
        seconds = _last_within(done, began, ended) - began
        if self._outside is None:
            waiting, _ = waits_of(requests[:, 0], requests[:, 1], began, ended)
        else:  # the batch was there before the session ran
            waiting, seconds = outside, seconds + np.nan_to_num(outside)
        waiting = np.maximum(waiting, 0.0)
        counts = np.ones(len(began), int)
        told = Steps(
            waiting,
            np.fmax(seconds, waiting),
            counts,
            lambda: None if loss is None else float(loss),
        )
        self._listener.after_steps(told)
        self._most = self._listener.steps_to_wait()
        self._due = time.time() + self._listener.seconds_to_wait

    def _waited_outside(self, clock: WaitClock) -> float:
        before, self._fed = self._fed, clock.untraced
        return self._fed[0] - before[0] if self._fed[1] > before[1] else np.nan


def _last_within(done: np.ndarray, began: np.ndarray, ended: np.ndarray) -> np.ndarray:
    """Returns when each step was done: its last stamp, or where it has none, when the run ended."""
    of = np.searchsorted(began - CLOCK, done, side="right") - 1
    kept = (of >= 0) & (done <= ended[of] + CLOCK)
    last = np.full(len(began), -np.inf)
    np.maximum.at(last, of[kept], done[kept])
    return np.where(np.isfinite(last), last, ended)
