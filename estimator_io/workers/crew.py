"""The worker processes of a pool, who has what in hand, and what is done when one of them ends.

A thread for each worker reads its answers. A worker has at most two chunks in hand: it never waits
for the next one, and a slow one does not hold many back.
"""

from __future__ import annotations

import atexit
import collections
import contextlib
import itertools
import logging
import os
import threading
import time
from typing import Any

from estimator_io.errors import RowError, WorkerError
from estimator_io.workers.block import Block, Chunk
from estimator_io.workers.process import WorkerProcess, spell_status
from estimator_io.workers.segments import Segment

__all__ = ["Crew"]

_IN_HAND = 2
_DEATHS = 3  # workers that may end with a chunk in hand that none of them had begun
# Segments whose results TensorFlow may keep without a copy. A program that holds on to more batches
# than this gets copies, lest it run out of file descriptors.
_MOST_LENT = 16
# While the program ends: how long TensorFlow may take to fill its buffers, and then to see its
# calls fail; and for how long no call must come.
_FILL_SECONDS = 1.0
_FAIL_SECONDS = 5.0
_QUIET_SECONDS = 0.1


class Crew:
    """Worker processes of the process that made this object.

    Args:
      size: how many.

    Attributes:
      pid: number of the process that they belong to.
      free: memory that can be used again. Whoever gives some back may hold any lock: appending
        takes none.
      workers: those that were started and have not ended.
    """

    def __init__(self, size: int) -> None:
        self.pid = os.getpid()
        self.free: collections.deque[Segment] = collections.deque()
        self.workers: list[WorkerProcess] = []
        self._size = size
        self._lock = threading.Lock()
        self._queue: collections.deque[Chunk] = collections.deque()
        self._forgotten: collections.deque[int] = collections.deque()
        self._numbers = itertools.count()
        self._segments = 0
        self._in_use = 0
        self._closed = False
        self._calls = 0
        self._last_call = 0.0
        atexit.register(self._at_exit)

    def segment(self) -> Segment:
        """Returns memory that nobody uses."""
        with contextlib.suppress(IndexError):
            return self.free.pop()
        segment = Segment.create()
        segment.number = next(self._numbers)
        self._segments += 1
        return segment

    def lends_much(self) -> bool:
        """Whether TensorFlow holds so much of the memory that it should be given copies."""
        return self._segments - len(self.free) - self._in_use > _MOST_LENT

    def forget(self, task: int) -> None:
        """Has the workers drop a task, soon."""
        self._forgotten.append(task)

    def work(self, block: Block) -> None:
        """Returns when `block` is done.

        Raises:
          RowError: the function failed on a row.
          WorkerError: a worker ended, or could not load the function.
        """
        used = block.segments()
        with self._lock:
            self._last_call = time.monotonic()
            if self._closed:
                raise WorkerError("The worker processes were stopped.")
            self._calls += 1
            self._in_use += len(used)
            self._queue.extend(block.chunks)
            self._hand_out()
        try:
            block.wait()
        except WorkerError:
            self.free.extend(used)
            raise
        finally:
            with self._lock:
                self._calls -= 1
                self._last_call = time.monotonic()
                self._in_use -= len(used)

    def close(self) -> None:
        """Ends the workers; what is under way fails."""
        atexit.unregister(self._at_exit)
        if os.getpid() != self.pid:  # a fork has copies of the descriptors, but no threads
            for worker in self.workers:
                worker.abandon()
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True
            chunks = [*self._queue, *(chunk for w in self.workers for chunk in w.jobs)]
            for chunk in chunks:
                failure = WorkerError("The worker processes were stopped.")
                chunk.block.finish(failure, chunk.first)
            workers = list(self.workers)
            for worker in workers:
                worker.end()
        for worker in workers:
            worker.wait()

    def _at_exit(self) -> None:
        """Ends the workers once TensorFlow's threads are out of Python.

        An iterator that is left over reads on while the program ends, and Python ends a thread that
        comes back to it by then: TensorFlow releases Python's objects without its lock as that
        thread unwinds, and the program hangs. So its buffers are left to fill, or calls to fail.
        """
        self._settle(_FILL_SECONDS)
        self.close()
        self._settle(_FAIL_SECONDS)

    def _settle(self, most: float) -> None:
        deadline = time.monotonic() + most
        while os.getpid() == self.pid and time.monotonic() < deadline:
            with self._lock:
                if not self._calls and time.monotonic() - self._last_call > _QUIET_SECONDS:
                    return
            time.sleep(_QUIET_SECONDS / 10)

    def _hand_out(self) -> None:
        """Gives chunks to whoever has the least in hand; starts workers that are missing."""
        if self._queue:
            while len(self.workers) < self._size:
                self._start()
        forgotten = [self._forgotten.popleft() for _ in range(len(self._forgotten))]
        for worker in self.workers:
            with contextlib.suppress(OSError):
                worker.forget(forgotten)
        while self._queue:
            worker = min(self.workers, key=lambda worker: len(worker.jobs))
            if len(worker.jobs) >= _IN_HAND:
                return
            self._give(worker, self._queue.popleft())

    def _start(self) -> None:
        worker = WorkerProcess()
        self.workers.append(worker)
        name = f"estimator_io worker {worker.pid}"
        threading.Thread(target=self._listen, args=(worker,), name=name, daemon=True).start()

    def _give(self, worker: WorkerProcess, chunk: Chunk) -> None:
        worker.jobs.append(chunk)
        block = chunk.block
        with contextlib.suppress(OSError):  # it has just ended, which its thread will notice
            worker.know_task(block.task)
            for segment in (block.segment, chunk.results):
                if segment is not None:
                    worker.know_segment(segment)
            worker.channel.send(block.message(chunk))

    def _listen(self, worker: WorkerProcess) -> None:
        while True:
            try:
                message, _ = worker.channel.receive()
            except EOFError:
                self._ended(worker)
                return
            with self._lock:
                if self._closed:
                    return
                self._answered(worker, *message)
            del message  # it may hold what the pool should not keep alive

    def _answered(self, worker: WorkerProcess, kind: str, *rest: Any) -> None:
        if kind == "ready":
            worker.ready = True
            return
        chunk = worker.jobs.popleft()
        block = chunk.block
        if kind == "done":
            (chunk.placed,) = rest
            block.finish()
        elif kind == "described":
            (block.described,) = rest
            block.finish()
        elif kind == "failed":
            block.finish(_row_error(worker, block, *rest), rest[0])
        else:
            failure = WorkerError(
                f"Worker process {worker.pid} could not load the function of"
                f" {block.task.spec.stage}: {rest[0]}"
            )
            block.finish(failure, chunk.first)
        self._hand_out()

    def _ended(self, worker: WorkerProcess) -> None:
        status = worker.wait()
        with self._lock:
            if self._closed:
                return
            self.workers.remove(worker)
            worker.end()
            if not worker.jobs:
                logging.getLogger("estimator_io").warning(
                    "Worker process %d %s while it had nothing to do.",
                    worker.pid,
                    spell_status(status),
                )
            for chunk in reversed(worker.jobs):
                chunk.deaths += 1
                if chunk.row < 0 and worker.ready and chunk.deaths < _DEATHS:
                    self._queue.appendleft(chunk)  # another one can do it
                else:
                    row = max(chunk.row, chunk.first)
                    chunk.block.finish(_death(worker, status, chunk), row)
            self._hand_out()


def _row_error(
    worker: WorkerProcess, block: Block, row: int, error: str, element: str, trace: str
) -> RowError:
    spec = block.task.spec
    told = f"\n\nTraceback of the worker process:\n{trace}" if trace else ""
    return RowError(
        f"{spec.stage} failed on {_where(block, row)}, {element}, in worker process {worker.pid}."
        f" {error}{told}",
        row,
    )


def _death(worker: WorkerProcess, status: int, chunk: Chunk) -> WorkerError:
    block, row = chunk.block, chunk.row
    told = f"Worker process {worker.pid} {spell_status(status)}"
    stage = block.task.spec.stage
    if not worker.ready:
        return WorkerError(
            f"{told} before it was ready; what it wrote to the standard error stream tells more."
            " Expected: that `python -m estimator_io.workers.worker` can be started with this"
            " program's interpreter and sys.path."
        )
    if row < 0:
        return WorkerError(f"{told} while it loaded the function of {stage}.")
    return RowError(
        f"{told} while {stage} was at {_where(block, row)}, {block.element(row)}. Expected: that"
        " the function returns. A signal tells of a fault in a library, of memory that ran out, or"
        " of somebody who ended the process.",
        row,
    )


def _where(block: Block, row: int) -> str:
    if block.task.spec.what == "batch":
        return "a batch"
    return f"row {row} of a block of {block.rows}"
