"""How much a busy machine stretches what this process does, measured when a profile begins."""

from __future__ import annotations

import dataclasses
import statistics
import time

__all__ = ["Crowding"]

BUSY_SECONDS = 0.03
SLEEP_SECONDS = 1e-3
SLEEPS = 20
# An element is handed over by two threads, each of which has to be woken.
WAKE_UPS = 2
MARGIN = 1.5


@dataclasses.dataclass(frozen=True)
class Crowding:
    """What other programs cost this one.

    Attributes:
      stretch: seconds on the clock for a second of the processor.
      wake: seconds from the end of a wait until a thread runs, in the better quarter of times, as
        steps are timed in their better quarter too.
    """

    stretch: float = 1.0
    wake: float = 0.0

    @classmethod
    def now(cls) -> Crowding:
        """Returns what it is now, measured for some 50 ms."""
        began, end = time.perf_counter(), time.thread_time() + BUSY_SECONDS
        while time.thread_time() < end:
            pass
        stretch = (time.perf_counter() - began) / BUSY_SECONDS
        late = []
        for _ in range(SLEEPS):
            began = time.perf_counter()
            time.sleep(SLEEP_SECONDS)
            late.append(time.perf_counter() - began - SLEEP_SECONDS)
        return cls(max(1.0, stretch), statistics.quantiles(late, n=4)[0])

    def queue(self, cpu: float, queued: float) -> float:
        """Returns the seconds that an element waited for a core, of all that threads did.

        Threads of TensorFlow spin for a while before they sleep; where they lose their core
        meanwhile, they queue too, beside a function that waits for storage.

        Args:
          cpu: seconds of the processor for an element.
          queued: seconds in which threads were ready to run and had no core.
        """
        expected = cpu * (self.stretch - 1.0) + WAKE_UPS * self.wake
        return min(queued, MARGIN * expected)
