"""The rows that are worked on at once: one call from TensorFlow, shared out over the workers."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from estimator_io.errors import WorkerError
from estimator_io.workers.columns import Column, PlacedColumn, join, place, taken
from estimator_io.workers.segments import Place, Segment, lay_out
from estimator_io.workers.task import TaskSpec, packed, spelled

__all__ = ["Block", "Chunk", "Task"]

_ROW_BYTES = 64  # of the place where a worker notes which row it is at


class Task:
    """A function as workers know it.

    Args:
      pool: the pool whose workers know it, which lives as long as the task.
      number: what they know it by.
      spec: its place in the pipeline.
      code: the pickled function.

    Attributes:
      number: what workers know it by.
      spec: its place in the pipeline.
      size: bytes of the pickled function.
      code: memory that holds it.
    """

    def __init__(self, pool: Any, number: int, spec: TaskSpec, code: bytes) -> None:
        self.pool = pool
        self.number = number
        self.spec = spec
        self.size = len(code)
        self.code = Segment.create()
        self.code.reserve(self.size)
        self.code.write(np.frombuffer(code, np.uint8), 0)


@dataclasses.dataclass(eq=False)
class Chunk:
    """The rows of a block that one worker takes.

    Attributes:
      block: what they belong to.
      first: the first of them, within the block.
      count: how many.
      at_work: where the worker notes the row it is at, bytes into the block's segment.
      results: memory for leaves of unknown size; None where there is none.
      placed: where the worker put these.
      deaths: workers that ended with this chunk in hand.
    """

    block: Block
    first: int
    count: int
    at_work: int
    results: Segment | None
    placed: list[PlacedColumn] | None = None
    deaths: int = 0

    @property
    def row(self) -> int:
        """The row that the worker is at, or was at when it ended; -1 before the first."""
        return int(self.block.segment.array((self.at_work, "int64", (1,)))[0])


class Block:
    """Rows on their way through the workers.

    Args:
      task: what is to be done with each.
      columns: what the function takes.
      rows: how many rows.
      chunks: how many workers to share them out over, at most.
      take: returns memory to use.

    Attributes:
      task: what is to be done with each row.
      rows: how many rows.
      segment: holds the rows, and the leaves whose size is known.
      chunks: the parts of the block.
      described: what the function returned, where that was to be found out.
    """

    def __init__(
        self,
        task: Task,
        columns: Sequence[Column],
        rows: int,
        chunks: int,
        take: Callable[[], Segment],
    ) -> None:
        self.task = task
        self.rows = rows
        self.described: Any = None
        self.segment: Segment = take()
        share = -(-rows // min(rows, chunks))
        starts = range(0, rows, share)
        self.inputs, end = place(columns, self.segment, _ROW_BYTES * len(starts))
        self.fixed = self._reserve_fixed(end)
        elsewhere = None in self.fixed
        self.chunks = [
            Chunk(
                self,
                first,
                min(share, rows - first),
                _ROW_BYTES * at,
                take() if elsewhere else None,
            )
            for at, first in enumerate(starts)
        ]
        for chunk in self.chunks:
            self.segment.array((chunk.at_work, "int64", (1,)))[0] = -1
        self._left = len(self.chunks)
        self._failures: dict[int, WorkerError] = {}
        self._done = threading.Event()

    def message(self, chunk: Chunk) -> tuple[Any, ...]:
        """Returns what a worker is told of `chunk`."""
        segments = (self.segment.number, None if chunk.results is None else chunk.results.number)
        where = (chunk.first, chunk.count, segments, chunk.at_work)
        return ("rows", self.task.number, *where, self.inputs, self.fixed)

    def element(self, row: int) -> str:
        """Returns what the function was given in `row`, in few words."""
        leaves = [taken(placed, self.segment).row(row) for placed in self.inputs]
        return spelled(packed(self.task.spec.inputs, leaves))

    def finish(self, failure: WorkerError | None = None, row: int = 0) -> None:
        """Counts one chunk as done or failed; one thread at a time."""
        if failure is not None:
            self._failures[row] = failure
        self._left -= 1
        if self._left == 0:
            self._done.set()

    def wait(self) -> None:
        """Returns when every chunk is done.

        Raises:
          WorkerError: one has failed: that of the first row, where several have.
        """
        self._done.wait()
        if self._failures:
            raise self._failures[min(self._failures)]

    def segments(self) -> list[Segment]:
        """Returns all memory that the block uses."""
        return [self.segment, *(c.results for c in self.chunks if c.results is not None)]

    def results(self, give_back: Callable[[Segment], object], *, copy: bool) -> list[Column]:
        """Returns the column of each leaf of what the function returned.

        Args:
          give_back: called with each segment once the last array over it has gone.
          copy: whether to copy what would otherwise stay in shared memory.
        """
        outputs = self.task.spec.outputs
        assert outputs is not None
        fixed = [at for at in self.fixed if at is not None]
        arrays = iter(_taken(self.segment, fixed, give_back, copy=copy))
        others = iter(self._joined(give_back, copy=copy))
        return [
            next(others) if at is None else Column(at[1], at[2][1:], next(arrays))
            for at in self.fixed
        ]

    def _joined(self, give_back: Callable[[Segment], object], *, copy: bool) -> list[Column]:
        """Returns the columns whose size was not known, over all chunks."""
        parts = []
        for chunk in self.chunks:
            if chunk.results is None or chunk.placed is None:
                return []
            places = [at for placed in chunk.placed for at in placed[2] if at is not None]
            copied = copy and len(self.chunks) == 1
            arrays = iter(_taken(chunk.results, places, give_back, copy=copied))
            parts.append([_column(placed, arrays) for placed in chunk.placed])
        return [join(columns) for columns in zip(*parts, strict=True)]

    def _reserve_fixed(self, offset: int) -> list[Place | None]:
        """Returns a place for each leaf whose size is known, None for the others."""
        outputs = self.task.spec.outputs
        if outputs is None:
            return []
        leaves = range(len(outputs.dtypes))
        wanted = [
            (outputs.dtypes[leaf], (self.rows, *(size or 0 for size in outputs.shapes[leaf])))
            for leaf in leaves
            if outputs.in_place(leaf)
        ]
        places, end = lay_out(wanted, offset)
        self.segment.reserve(end)
        left = iter(places)
        return [next(left) if outputs.in_place(leaf) else None for leaf in leaves]


def _taken(
    segment: Segment,
    places: Sequence[Place],
    give_back: Callable[[Segment], object],
    *,
    copy: bool,
) -> list[np.ndarray]:
    arrays = segment.lend(places, give_back)
    return [array.copy() for array in arrays] if copy else arrays


def _column(placed: PlacedColumn, arrays: Iterator[np.ndarray]) -> Column:
    dtype, shape, places = placed
    values, texts, shapes = (None if at is None else next(arrays) for at in places)
    assert values is not None
    return Column(dtype, shape, values, texts, shapes)
