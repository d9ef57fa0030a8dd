"""The values that one leaf has in each row of a block, in a form that lies in shared memory."""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from estimator_io.workers.segments import Place, Segment, lay_out

__all__ = ["TEXT", "Column", "PlacedColumn", "as_array", "join", "place", "taken"]

TEXT = "string"  # the name that TensorFlow gives to the dtype of bytes of any length

# (dtype, shape of a row or None, places of values, texts and shapes)
PlacedColumn = tuple[str, tuple[int, ...] | None, tuple[Place | None, ...]]


@dataclasses.dataclass(frozen=True)
class Column:
    """One leaf of the structure over all rows.

    Attributes:
      dtype: NumPy's name of the type, or "string".
      shape: the shape of every row; None where rows differ.
      values: numbers, [rows, *shape], or of all rows one behind the other where they differ in
        shape; of texts where each ends in `texts`, int64 [number of texts].
      texts: the bytes of all texts, uint8; None for numbers.
      shapes: the shape of each row where they differ, int64 [rows, rank].
    """

    dtype: str
    shape: tuple[int, ...] | None
    values: np.ndarray
    texts: np.ndarray | None = None
    shapes: np.ndarray | None = None

    @classmethod
    def of(
        cls, values: np.ndarray, shape: tuple[int, ...] | None, shapes: np.ndarray | None = None
    ) -> Column:
        """Returns the column of an array as TensorFlow hands it over: texts are objects."""
        if values.dtype != object:
            return cls(values.dtype.name, shape, values, None, shapes)
        texts = [_encoded(text) for text in values.ravel()]
        ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
        return cls(TEXT, shape, ends, np.frombuffer(b"".join(texts), np.uint8), shapes)

    def row(self, at: int) -> Any:
        """Returns a copy of the value in one row: a scalar, bytes or an array."""
        if self.dtype != TEXT and self.shape is not None:
            return self.values[at].copy()  # of a scalar too, which has its own copy() then
        first, last, shape = self._bounds(at)
        if self.dtype != TEXT:
            return self.values[first:last].reshape(shape).copy()
        if shape == ():
            return self._text(first)
        found = np.empty(last - first, object)
        found[:] = [self._text(number) for number in range(first, last)]
        return found.reshape(shape)

    def all_texts(self) -> np.ndarray:
        """Returns every text as an object, [number of texts]."""
        found = np.empty(len(self.values), object)
        found[:] = [self._text(number) for number in range(len(self.values))]
        return found

    def arrays(self) -> list[np.ndarray | None]:
        """Returns what has to lie in shared memory."""
        return [self.values, self.texts, self.shapes]

    def _bounds(self, at: int) -> tuple[int, int, tuple[int, ...]]:
        if self.shape is not None:
            count = math.prod(self.shape)
            return at * count, (at + 1) * count, self.shape
        shape = tuple(int(size) for size in self._shapes[at])
        return int(self._starts[at]), int(self._starts[at + 1]), shape

    @property
    def _shapes(self) -> np.ndarray:
        assert self.shapes is not None
        return self.shapes

    @functools.cached_property
    def _starts(self) -> np.ndarray:
        return np.concatenate([[0], np.cumsum(self._shapes.prod(axis=1))])

    def _text(self, number: int) -> bytes:
        assert self.texts is not None
        begin = int(self.values[number - 1]) if number else 0
        return self.texts[begin : int(self.values[number])].tobytes()


def as_array(value: Any) -> np.ndarray:
    """Returns `value` as an array, texts as objects: NumPy's own texts lose zeros at their end."""
    if isinstance(value, (bytes, str)):
        array = np.empty((), object)
        array[()] = value
        return array
    array = np.asarray(value)
    return np.asarray(value, object) if array.dtype.kind in "SU" else array


def place(
    columns: Sequence[Column], segment: Segment, offset: int
) -> tuple[list[PlacedColumn], int]:
    """Copies `columns` into `segment` from `offset` on; returns their places and their end."""
    arrays = [array for column in columns for array in column.arrays() if array is not None]
    places, end = lay_out([(array.dtype.name, array.shape) for array in arrays], offset)
    segment.reserve(end)
    for array, (at, _, _) in zip(arrays, places, strict=True):
        segment.write(array, at)
    left = iter(places)
    placed: list[PlacedColumn] = []
    for column in columns:
        own = tuple(None if array is None else next(left) for array in column.arrays())
        placed.append((column.dtype, column.shape, own))
    return placed, end


def taken(placed: PlacedColumn, segment: Segment) -> Column:
    """Returns the column at `placed`, over the shared memory itself."""
    dtype, shape, places = placed
    values, texts, shapes = (None if at is None else segment.array(at) for at in places)
    assert values is not None
    return Column(dtype, shape, values, texts, shapes)


def join(columns: Sequence[Column]) -> Column:
    """Returns the rows of `columns`, one behind the other."""
    if len(columns) == 1:
        return columns[0]
    values = [column.values for column in columns]
    texts = shapes = None
    if columns[0].dtype == TEXT:
        parts = [column.texts for column in columns if column.texts is not None]
        starts = np.cumsum([0, *(len(part) for part in parts[:-1])])
        values = [ends + start for ends, start in zip(values, starts, strict=True)]
        texts = np.concatenate(parts)
    if columns[0].shapes is not None:
        shapes = np.concatenate([column._shapes for column in columns])
    first = columns[0]
    return Column(first.dtype, first.shape, np.concatenate(values), texts, shapes)


def _encoded(text: Any) -> bytes:
    return text.encode() if isinstance(text, str) else bytes(text)
