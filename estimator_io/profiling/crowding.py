"""How much of the machine this process gets, measured when it is asked for."""

from __future__ import annotations

import dataclasses
import hashlib
import statistics
import threading
import time

__all__ = ["Crowding", "worth_of_cores"]

BUSY_SECONDS = 0.03
QUIET = 1.2
# Long enough that taking the interpreter's lock between two blocks is no matter.
BLOCK_BYTES = 256 << 10
ROUND_SECONDS, ROUNDS = 0.015, 4


@dataclasses.dataclass(frozen=True)
class Crowding:
    """What other programs cost this one.

    Attributes:
      stretch: seconds on the clock for a second of the processor.
    """

    stretch: float = 1.0

    @classmethod
    def now(cls) -> Crowding:
        """Returns what it is now, measured for some 30 ms."""
        began, end = time.perf_counter(), time.thread_time() + BUSY_SECONDS
        while time.thread_time() < end:
            pass
        return cls(max(1.0, (time.perf_counter() - began) / BUSY_SECONDS))

    @property
    def quiet(self) -> bool:
        """Whether this process has the machine nearly to itself."""
        return self.stretch < QUIET


def worth_of_cores(cores: int) -> float:
    """Returns how many times the work of one thread all cores do together, from 1 to `cores`.

    One thread and a thread for each core compute in turn, so that what other programs take from
    both is the same. It is less than the number of cores where two of them are one core's
    hyperthreads, where the clock falls when all are busy, and where other programs compute too.

    Args:
      cores: that this process may use.
    """
    if cores < 2:
        return 1.0
    block = bytes(BLOCK_BYTES)
    ratios = [_rate(block, cores) / _rate(block, 1) for _ in range(ROUNDS)]
    return min(float(cores), max(1.0, statistics.median(ratios)))


def _rate(block: bytes, threads: int) -> float:
    """Returns the blocks a second that threads of native code get through together."""
    done = [0] * threads
    begin = time.perf_counter()
    end = begin + ROUND_SECONDS

    def work(at: int) -> None:
        while time.perf_counter() < end:
            hashlib.sha256(block)  # lets go of the interpreter's lock
            done[at] += 1

    others = [threading.Thread(target=work, args=(at,), daemon=True) for at in range(1, threads)]
    for thread in others:
        thread.start()
    work(0)
    for thread in others:
        thread.join()
    return max(1, sum(done)) / (time.perf_counter() - begin)
