"""A Keras model's train function with a clock around it, for whoever watches the model's steps."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_io.hooks.steps import StepListener, Steps, waits_of
from estimator_io.hooks.timed_iterator import WaitClock

__all__ = ["TimedTrainFunction", "clock_of"]


class TimedTrainFunction:
    """Calls a train function, and tells listeners what its calls took and waited.

    The train function notes when it waited, and that is read many calls at a time: reading it
    costs more than noting it.

    Args:
      original: what Keras made.
      clock: that of the model.
    """

    def __init__(self, original: Callable[[Any], Any], clock: WaitClock) -> None:
        self.original = original
        self._clock = clock
        self._listeners: list[StepListener] = []
        self._calls: list[tuple[float, float]] = []  # when each began, and its seconds
        self._most = 1  # calls until listeners are told
        self._due = 0.0
        self._result: Any = None
        clock.read()

    @classmethod
    def around(cls, model: Any) -> TimedTrainFunction:
        """Returns the one that stands around the model's train function, which it may do newly."""
        if not isinstance(model.train_function, cls):
            model.train_function = cls(model.train_function, clock_of(model))
        return model.train_function

    @classmethod
    def take_away(cls, model: Any) -> None:
        """Gives the model its own train function back."""
        if isinstance(model.train_function, cls):
            model.train_function._clock.forget()
            model.train_function = model.train_function.original

    def add_listener(self, listener: StepListener) -> None:
        """Has the listener told of what comes from now on."""
        self.tell()
        self._listeners.append(listener)

    def __call__(self, iterator: Any) -> Any:
        """Takes the steps of one execution; Keras calls it."""
        if not self._listeners:  # a model with a session times its steps itself
            return self.original(self._clock.timed(iterator))
        for listener in self._listeners:
            listener.before_step()
        began, started = time.time(), time.perf_counter()
        self._result = result = self.original(self._clock.timed(iterator))
        ended = time.perf_counter()
        self._calls.append((began, ended - started))
        if len(self._calls) >= self._most or ended >= self._due:
            self.tell()
        return result

    def tell(self) -> None:
        """Tells listeners of the calls that they were not told of yet."""
        if not self._calls:
            return
        began, seconds = np.transpose(self._calls)
        self._calls = []
        asked, got, came = self._clock.read().T
        waiting, of = waits_of(asked, got, began, began + seconds)
        counts = np.bincount(of[of >= 0], came[of >= 0], minlength=len(began)).round().astype(int)
        result, self._result = self._result, None
        steps = Steps(
            np.where(counts > 0, waiting, np.nan),
            np.fmax(seconds, waiting),
            np.maximum(counts, 1),
            lambda: _loss_of(result),
        )
        for listener in self._listeners:
            listener.after_steps(steps)
        wait = min(listener.steps_to_wait() for listener in self._listeners)
        self._most = -(-wait // int(steps.counts[-1]))
        self._due = time.perf_counter() + min(each.seconds_to_wait for each in self._listeners)


_CLOCKS: weakref.WeakKeyDictionary[Any, WaitClock] = weakref.WeakKeyDictionary()


def clock_of(model: Any) -> WaitClock:
    """Returns the clock of a model, always the same: its train function is traced for it once."""
    if model not in _CLOCKS:
        _CLOCKS[model] = WaitClock()
    return _CLOCKS[model]


def _loss_of(result: Any) -> float | None:
    loss = result.get("loss") if isinstance(result, dict) else None
    return None if loss is None else float(loss)
