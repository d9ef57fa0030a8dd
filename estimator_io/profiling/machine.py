"""The machine that a profile ran on, as far as predictions depend on it."""

from __future__ import annotations

import dataclasses
import mmap
import os
import time
from collections.abc import Iterable

__all__ = ["Machine"]

DISK_BYTES = 32 << 20
DISK_BLOCK = 4 << 20
DISK_SECONDS = 0.2


@dataclasses.dataclass(frozen=True)
class Machine:
    """Cores, memory and disk.

    Attributes:
      cores: that this process may use.
      memory_bytes: of the machine, or of the container where that is less.
      load: processes that wanted a core when the profile began, over the last minute.
      disk_bytes_per_second: of the files that the pipeline reads, past the page cache; None where
        it reads none, or where that cannot be measured.
    """

    cores: int
    memory_bytes: int
    load: float
    disk_bytes_per_second: float | None = None

    @classmethod
    def here(cls, files: Iterable[str] = ()) -> Machine:
        """Returns this machine.

        Args:
          files: some that the pipeline reads; they are read past the page cache, and at most for
            0.2 s.
        """
        from estimator_io.pipeline.memory_limit import total_memory

        known = hasattr(os, "sched_getaffinity")
        cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0
        return cls(cores, total_memory() or 0, load, _disk_speed(files))


def _disk_speed(files: Iterable[str]) -> float | None:
    """Returns the bytes a second that reading past the page cache gives."""
    if not hasattr(os, "O_DIRECT"):
        return None
    block = mmap.mmap(-1, DISK_BLOCK)  # O_DIRECT wants memory that is aligned
    total, start = 0, time.perf_counter()
    for path in files:
        if total >= DISK_BYTES or time.perf_counter() - start > DISK_SECONDS:
            break
        try:
            file = os.open(path, os.O_RDONLY | os.O_DIRECT)
        except OSError:
            continue
        try:
            while total < DISK_BYTES and time.perf_counter() - start < DISK_SECONDS:
                read = os.readv(file, [block])
                if not read:
                    break
                total += read
        except OSError:
            continue
        finally:
            os.close(file)
    return total / (time.perf_counter() - start) if total else None
