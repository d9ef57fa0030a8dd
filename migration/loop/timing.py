"""When something is due: by steps or by seconds of a clock that tests can replace."""

from __future__ import annotations

from typing import Protocol

__all__ = ["Clock", "Timer"]


class Clock(Protocol):
    """What the loop asks for the time; the module `time` is one."""

    def time(self) -> float:
        """Returns the seconds since the epoch."""
        ...

    def sleep(self, seconds: float, /) -> None:
        """Waits."""
        ...


class Timer:
    """Triggers at most once every so many steps, or seconds, and never twice at one step.

    The rule is that of tf.estimator.SecondOrStepTimer.

    Args:
      clock: what tells the time.
      every_secs: seconds between two triggers.
      every_steps: or steps between them.
    """

    def __init__(
        self, clock: Clock, *, every_secs: float | None = None, every_steps: int | None = None
    ) -> None:
        self._clock = clock
        self._every_secs = every_secs
        self._every_steps = every_steps
        self.last_step: int | None = None
        self._last_time = 0.0

    @property
    def counts_steps(self) -> bool:
        """Whether the step alone says when it is due, so that all workers see it alike."""
        return self._every_secs is None

    def due(self, step: int) -> bool:
        """Whether to trigger at `step`; the first time always."""
        if self.last_step is None:
            return True
        if self.last_step == step:
            return False
        if self._every_secs is not None:
            return self._clock.time() >= self._last_time + self._every_secs
        return self._every_steps is not None and step >= self.last_step + self._every_steps

    def trigger(self, step: int) -> tuple[float, int] | None:
        """Notes a trigger at `step`; returns the seconds and steps since the one before, if any."""
        now = self._clock.time()
        since = None if self.last_step is None else (now - self._last_time, step - self.last_step)
        self.last_step, self._last_time = step, now
        return since
