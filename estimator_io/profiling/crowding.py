"""How much a busy machine stretches what this process does, measured when a profile begins."""

from __future__ import annotations

import dataclasses
import statistics
import time

__all__ = ["Crowding"]

BUSY_SECONDS = 0.03
SLEEP_SECONDS = 1e-3
SLEEPS = 20
QUIET = 1.2


@dataclasses.dataclass(frozen=True)
class Crowding:
    """What other programs cost this one.

    Attributes:
      stretch: seconds on the clock for a second of the processor.
      wake: seconds from the end of a wait until a thread runs, in the better quarter of times.
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

    @property
    def quiet(self) -> bool:
        """Whether this process has the machine nearly to itself."""
        return self.stretch < QUIET
