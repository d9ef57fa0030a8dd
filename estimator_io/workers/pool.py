"""A number of worker processes that make rows, started when they are first needed."""

from __future__ import annotations

import hashlib
import itertools
import os
import threading
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from estimator_io.workers.block import Block, Task
from estimator_io.workers.code import as_bytes
from estimator_io.workers.columns import Column
from estimator_io.workers.crew import Crew
from estimator_io.workers.task import TaskSpec

__all__ = ["Pool"]


class Pool:
    """Worker processes, which end when the pool is garbage or the program ends.

    Several threads may call it at once; each waits for its own rows.

    Args:
      size: number of worker processes.
    """

    def __init__(self, size: int) -> None:
        self.size = size
        self._lock = threading.Lock()
        self._numbers = itertools.count()
        self._tasks: weakref.WeakValueDictionary[str, Task] = weakref.WeakValueDictionary()
        self._crew = self._new_crew()

    def task(self, function: Callable[..., Any], spec: TaskSpec) -> Task:
        """Returns the task of `function` as it is now: with the values that it refers to now.

        Raises:
          OptionError: the function refers to something that cannot be sent.
        """
        code = as_bytes(function, spec.stage)
        key = hashlib.sha256(code + repr(spec).encode()).hexdigest()
        crew = self._current_crew()
        with self._lock:
            found = self._tasks.get(key)
            if found is None:
                found = self._tasks[key] = Task(self, next(self._numbers), spec, code)
                weakref.finalize(found, crew.forget, found.number).atexit = False
            return found

    def run(
        self, task: Task, columns: Sequence[Column], rows: int, *, chunks: int | None = None
    ) -> list[Column]:
        """Returns what the function of `task` makes of each row.

        Args:
          task: what to do.
          columns: what the function takes: a column for each leaf.
          rows: how many rows; at least one.
          chunks: how many workers to share them out over, at most; all if not given.

        Returns:
          A column for each leaf of what it returns. Numbers lie in memory that is used again once
          the last array over it has gone.

        Raises:
          RowError: the function failed on a row: the first that is known.
          WorkerError: a worker process ended, or could not load the function.
        """
        crew = self._current_crew()
        block = Block(task, columns, rows, chunks or self.size, crew.segment)
        crew.work(block)
        return block.results(crew.free.append, copy=crew.lends_much())

    def describe(self, task: Task, columns: Sequence[Column]) -> Any:
        """Returns the very value that the function of `task` returns for a single row.

        Raises:
          Exceptions as those of `run`.
        """
        crew = self._current_crew()
        block = Block(task, columns, 1, 1, crew.segment)
        crew.work(block)
        crew.free.extend(block.segments())
        return block.described

    def close(self) -> None:
        """Ends the workers now; what is under way fails."""
        self._crew.close()

    def pids(self) -> list[int]:
        """Returns the process numbers of the workers that are alive."""
        return [worker.pid for worker in self._crew.workers]

    def _current_crew(self) -> Crew:
        if self._crew.pid != os.getpid():  # a fork has none of its parent's threads
            self._lock = threading.Lock()
            self._crew.close()
            self._crew = self._new_crew()
        return self._crew

    def _new_crew(self) -> Crew:
        crew = Crew(self.size)
        weakref.finalize(self, _close, crew).atexit = False
        return crew


def _close(crew: Crew) -> None:
    """Ends the workers in a thread of its own: garbage may be found while a lock is held."""
    threading.Thread(target=crew.close, daemon=True).start()
