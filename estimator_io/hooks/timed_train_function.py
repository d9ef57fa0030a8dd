"""A Keras model's train function with a clock around it, for whoever watches the model's steps."""

from __future__ import annotations

import time
import weakref
from collections.abc import Callable
from typing import Any, Protocol

from estimator_io.hooks.timed_iterator import WaitClock

__all__ = ["Step", "StepListener", "TimedTrainFunction", "clock_of"]


class Step:
    """One step, or the several ones of an execution.

    Attributes:
      seconds: how long it took, waiting included.
      waiting: seconds of it spent waiting for input; None where that cannot be seen.
      count: how many steps these are the seconds of.
      loss: returns the loss, where there is one.
    """

    __slots__ = ("count", "loss", "seconds", "waiting")

    def __init__(
        self, seconds: float, waiting: float | None, count: int, loss: Callable[[], float | None]
    ) -> None:
        self.seconds = seconds
        self.waiting = waiting
        self.count = count
        self.loss = loss


class StepListener(Protocol):
    """What is told of each step."""

    def before_step(self) -> None:
        """A step begins; its time is not running yet."""
        ...

    def after_step(self, step: Step) -> None:
        """A step was taken."""
        ...


class TimedTrainFunction:
    """Calls a train function, and tells listeners what the call took and waited.

    Args:
      original: what Keras made.
      clock: that of the model.
    """

    def __init__(self, original: Callable[[Any], Any], clock: WaitClock) -> None:
        self.original = original
        self.listeners: list[StepListener] = []
        self._clock = clock
        self._before = clock.read().tolist()

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

    def __call__(self, iterator: Any) -> Any:
        """Takes the steps of one execution; Keras calls it."""
        clock = self._clock
        if not self.listeners:  # a model with a session times its steps itself
            return self.original(clock.timed(iterator))
        for listener in self.listeners:
            listener.before_step()
        began = time.perf_counter()
        try:
            result = self.original(clock.timed(iterator))
        except BaseException:
            self._before = clock.read().tolist()  # the end of the data was waited for too
            raise
        seconds = time.perf_counter() - began
        waiting, count = self._waited()
        step = Step(seconds, waiting, count, lambda: _loss_of(result))
        for listener in self.listeners:
            listener.after_step(step)
        return result

    def _waited(self) -> tuple[float | None, int]:
        (waited, batches), self._before = self._before, self._clock.read().tolist()
        count = round(self._before[1] - batches)
        return (max(0.0, self._before[0] - waited), count) if count > 0 else (None, 1)


_CLOCKS: weakref.WeakKeyDictionary[Any, WaitClock] = weakref.WeakKeyDictionary()


def clock_of(model: Any) -> WaitClock:
    """Returns the clock of a model, always the same: its train function is traced for it once."""
    if model not in _CLOCKS:
        _CLOCKS[model] = WaitClock()
    return _CLOCKS[model]


def _loss_of(result: Any) -> float | None:
    loss = result.get("loss") if isinstance(result, dict) else None
    return None if loss is None else float(loss)
