"""What a piece of work took: seconds that passed, of the processor, and of waiting in its queue.

On a busy machine a thread that wants to compute waits for a core. Linux counts that time
(/proc/self/task/*/schedstat, its second figure), so it is not mistaken for waiting for storage.
"""

from __future__ import annotations

import dataclasses
import glob
import os
import time

__all__ = ["Usage", "threads_now"]


@dataclasses.dataclass(frozen=True)
class Usage:
    """Seconds, summed over the threads of this process.

    Attributes:
      wall: that passed.
      cpu: on a core.
      queued: in which threads were ready to run and had no core; 0 where the system does not tell.
    """

    wall: float
    cpu: float
    queued: float

    @classmethod
    def now(cls) -> Usage:
        """Returns the counters as they stand."""
        return cls(time.perf_counter(), time.process_time(), _queued())

    def since(self, start: Usage) -> Usage:
        """Returns what was used from `start` to here."""
        return Usage(
            self.wall - start.wall,
            max(0.0, self.cpu - start.cpu),
            max(0.0, self.queued - start.queued),
        )

    def per(self, number: float) -> Usage:
        """Returns the part of one of `number` elements."""
        return Usage(self.wall / number, self.cpu / number, self.queued / number)


def threads_now() -> dict[str, tuple[float, float]]:
    """Returns (seconds on a core, seconds in the queue for one) of each thread, by its id.

    Empty where the system does not tell.
    """
    found = {}
    for path in glob.glob(f"/proc/{os.getpid()}/task/*/schedstat"):
        try:
            with open(path) as file:
                cpu, queued = file.read().split()[:2]
                found[path] = (int(cpu) * 1e-9, int(queued) * 1e-9)
        except (OSError, ValueError):  # a thread that has ended
            continue
    return found


def _queued() -> float:
    return sum(queued for _, queued in threads_now().values())
