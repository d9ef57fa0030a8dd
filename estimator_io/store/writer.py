"""The background writer: one thread that takes what it can afford, and lets go of the rest."""

from __future__ import annotations

import atexit
import collections
import dataclasses
import os
import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

__all__ = ["QUEUE_BYTES", "Policy", "Writer"]

# Rows that wait to be written keep their tensors in memory.
QUEUE_BYTES = 64 << 20
# Processor seconds that may be spent at once after a pause, and before the first second is over.
BURST_SECONDS = 0.5


@dataclasses.dataclass(frozen=True)
class Policy:
    """What the writer does when rows come faster than it writes.

    Attributes:
      fill: "background" drops them, and a later pass makes them again; "complete" lets the
        pipeline wait.
      share: of the processors' time that writing may take with "background".
    """

    fill: str = "background"
    share: float = 0.1


class Writer:
    """Calls a function on jobs, in a thread that ends when it has nothing to do.

    Args:
      write: writes one job; it raises nothing.
      policy: what to do when it cannot keep up.
      queue_bytes: bytes of jobs that may wait.
    """

    def __init__(
        self, write: Callable[[Any], None], policy: Policy, queue_bytes: int = QUEUE_BYTES
    ) -> None:
        self._write = write
        self.policy = policy
        self._queue_bytes = queue_bytes
        self._jobs: collections.deque[tuple[Any, int]] = collections.deque()
        self._waiting = 0  # bytes of the jobs, the one that is being written included
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None
        self._pid = os.getpid()
        self._allowance = BURST_SECONDS
        self._allowed_at = time.monotonic()
        self._seconds_a_byte = 0.0
        _WRITERS.add(self)

    def offer(self, job: Any, nbytes: int) -> bool:
        """Takes `job` to be written; returns False where it is let go instead."""
        with self._changed:
            if self._pid != os.getpid():
                self._start_over_in_child()
            if self.policy.fill == "complete":
                while self._waiting and self._waiting + nbytes > self._queue_bytes:
                    self._start()
                    self._changed.wait(0.1)
            elif not self._affordable(nbytes):
                return False
            self._jobs.append((job, nbytes))
            self._waiting += nbytes
            self._start()
            self._changed.notify_all()
        return True

    def flush(self, seconds: float | None = None) -> bool:
        """Waits until all jobs are written; returns whether they are after `seconds`."""
        limit = None if seconds is None else time.monotonic() + seconds
        with self._changed:
            while self._waiting and self._pid == os.getpid():
                self._start()
                left = 0.1 if limit is None else min(0.1, limit - time.monotonic())
                if left <= 0:
                    return False
                self._changed.wait(left)
            thread = self._thread
        if thread is not None and thread is not threading.current_thread():
            thread.join()  # it has nothing to do, and holds what it wrote to
        return True

    def _affordable(self, nbytes: int) -> bool:
        if self._waiting and self._waiting + nbytes > self._queue_bytes:
            return False
        now = time.monotonic()
        gained = (now - self._allowed_at) * self.policy.share * _cores()
        self._allowance = min(BURST_SECONDS, self._allowance + gained)
        self._allowed_at = now
        return self._seconds_a_byte * (self._waiting + nbytes) <= self._allowance

    def _start(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            self._thread = threading.Thread(
                target=self._run, name="estimator_io store", daemon=True
            )
            self._thread.start()

    def _run(self) -> None:
        while True:
            with self._changed:
                if not self._jobs:
                    self._thread = None
                    return
                job, nbytes = self._jobs.popleft()
            began = time.thread_time()
            try:
                self._write(job)
            finally:
                spent = time.thread_time() - began
                with self._changed:
                    self._account(spent, nbytes)
                    self._changed.notify_all()

    def _account(self, spent: float, nbytes: int) -> None:
        self._waiting -= nbytes
        self._allowance -= spent
        rate = spent / max(1, nbytes)
        known = self._seconds_a_byte
        self._seconds_a_byte = rate if not known else 0.9 * known + 0.1 * rate

    def _start_over_in_child(self) -> None:
        """After a fork there is no thread, and the jobs are the parent's."""
        self._pid = os.getpid()
        self._jobs.clear()
        self._waiting = 0
        self._thread = None


def _cores() -> int:
    known = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1


_WRITERS: weakref.WeakSet[Writer] = weakref.WeakSet()


@atexit.register
def _flush_all() -> None:
    """A program that ends of its own keeps what it has made."""
    for writer in list(_WRITERS):
        writer.flush(30.0)
