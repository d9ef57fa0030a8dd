"""Times that operations of a graph note with each step, and that are read many steps at a time."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["StampLog"]

BLOCKS = (100, 25, 5, 1)  # rows taken at once: as many as are known beforehand need no loop


class StampLog:
    """Rows of times, in a staging area of the host that operations put them into.

    Of what can keep a value from one step to the next, a staging area costs a step least: one
    operation without inputs of its own, no variable to lock and no handle to hand over. What was
    noted lies there until it is read; nothing is ever held up.

    Args:
      width: float64 values in a row.
    """

    def __init__(self, width: int) -> None:
        self.width = width
        self._area = {
            "dtypes": [tf.float64] * width,
            "shared_name": f"input_monitor_{uuid.uuid4().hex}",
        }
        self._functions: dict[int, Any] = {}
        self._tensors: dict[int, Any] = {}
        self._size: Any = None

    def note(self, row: Sequence[Any]) -> Any:
        """Adds the operation that notes a row, of scalars, and returns it."""
        with tf.device("/cpu:0"):
            return tf.raw_ops.Stage(values=list(row), shared_name=self._area["shared_name"])

    def add_reading(self) -> None:
        """Adds the operations that `read_session` runs to a graph that is still to be finalized."""
        with tf.device("/cpu:0"):
            self._size = tf.raw_ops.StageSize(**self._area)
            rows = [tf.raw_ops.Unstage(**self._area) for _ in range(BLOCKS[0])]
            self._tensors = {count: self._together(rows[:count]) for count in BLOCKS}

    def read_session(self, session: Any) -> np.ndarray:
        """Returns and forgets float64 [n, width]: what was noted in a session's graph."""
        return self._read(session.run(self._size), lambda count: session.run(self._tensors[count]))

    def read_eagerly(self) -> np.ndarray:
        """Returns and forgets float64 [n, width]: what was noted by traced functions."""
        with tf.device("/cpu:0"):
            size = int(tf.raw_ops.StageSize(**self._area))
        return self._read(size, self._take)

    def _read(self, left: int, take: Callable[[int], np.ndarray]) -> np.ndarray:
        parts = [np.empty((0, self.width))]
        for count in BLOCKS:
            while left >= count:
                parts.append(take(count))
                left -= count
        return np.concatenate(parts)

    def _take(self, count: int) -> np.ndarray:
        if count not in self._functions:
            self._functions[count] = tf.function(lambda: self._taken(count), autograph=False)
        return self._functions[count]().numpy()

    def _taken(self, count: int) -> Any:
        with tf.device("/cpu:0"):
            return self._together([tf.raw_ops.Unstage(**self._area) for _ in range(count)])

    def _together(self, rows: Sequence[Sequence[Any]]) -> Any:
        return tf.reshape(tf.stack([value for row in rows for value in row]), [-1, self.width])
