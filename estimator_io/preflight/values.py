"""What the batches hold: types, shapes, ranges, missing values, classes, rows that come again."""

from __future__ import annotations

import dataclasses
import hashlib
import math
from typing import Any

import numpy as np

from estimator_io.pipeline.reading import leaves_of, row_counts

__all__ = ["Column", "Values"]

# Labels with more values than these are no classes.
MOST_CLASSES = 100


@dataclasses.dataclass
class Column:
    """One tensor of the batches that were drawn.

    Attributes:
      path: its name, such as features['x'] or labels.
      dtype: of its values.
      shapes: of the batches, each once.
      size: values in all.
      minimum, maximum, total: of the finite ones, where they are numbers.
      finite: how many those are.
      nan, infinite, empty: how many are NaN, infinite, or empty strings.
      constant: whether all values are the same one.
      classes: how often each value came, for labels; None where they are no classes.
    """

    path: str
    dtype: str
    shapes: list[tuple[int, ...]] = dataclasses.field(default_factory=list)
    size: int = 0
    minimum: float = math.inf
    maximum: float = -math.inf
    total: float = 0.0
    finite: int = 0
    nan: int = 0
    infinite: int = 0
    empty: int = 0
    classes: dict[Any, int] | None = None

    def add(self, array: np.ndarray) -> None:
        """Takes one batch in."""
        if array.shape not in self.shapes:
            self.shapes.append(array.shape)
        self.size += array.size
        if array.dtype.kind in "OSU":
            self.empty += sum(not item for item in array.reshape(-1).tolist())
        elif array.size:
            self._add_numbers(array)
        if self.classes is not None:
            self._add_classes(array)

    def _add_numbers(self, array: np.ndarray) -> None:
        numbers = np.abs(array) if array.dtype.kind == "c" else array
        numbers = numbers.astype(np.float64)
        finite = np.isfinite(numbers)
        self.nan += int(np.isnan(numbers).sum())
        self.infinite += int(np.isinf(numbers).sum())
        self.finite += int(finite.sum())
        if finite.any():
            self.minimum = min(self.minimum, float(numbers[finite].min()))
            self.maximum = max(self.maximum, float(numbers[finite].max()))
            self.total += float(numbers[finite].sum())

    def _add_classes(self, array: np.ndarray) -> None:
        is_column = array.ndim == 1 or (array.ndim == 2 and array.shape[1] == 1)
        fractions = array.dtype.kind == "f" and not (array == np.floor(array)).all()
        if not is_column or fractions or array.dtype.kind not in "biufOSU" or self.classes is None:
            self.classes = None
            return
        for value in array.reshape(-1).tolist():
            name = value.decode(errors="replace") if isinstance(value, bytes) else value
            self.classes[name] = self.classes.get(name, 0) + 1
        if len(self.classes) > MOST_CLASSES:
            self.classes = None

    @property
    def mean(self) -> float | None:
        """The mean of the finite numbers, None where there are none."""
        return self.total / self.finite if self.finite else None


class Values:
    """What the batches hold, taken in one by one.

    Attributes:
      columns: one for each tensor, in the order of the structure.
      rows: that came; None where a tensor has no row for each.
      again_in_batch: rows that stand in their batch for a second time.
      again: rows that an earlier batch had.
      pure_batches: batches that hold one class alone, among those with more than one row.
      first: the first batch as it came.
    """

    def __init__(self) -> None:
        self.columns: dict[str, Column] = {}
        self.rows: int | None = 0
        self.again_in_batch = 0
        self.again = 0
        self.pure_batches = 0
        self.first: tuple[Any, ...] | None = None
        self._seen: set[bytes] = set()

    def see(self, batch: tuple[Any, ...]) -> None:
        """Takes one batch in."""
        if self.first is None:
            self.first = batch
        leaves = [*leaves_of(batch)]
        for path, array in leaves:
            if path not in self.columns:
                is_label = path.startswith("labels")
                self.columns[path] = Column(path, _dtype(array), classes={} if is_label else None)
            self.columns[path].add(array)
            pure = array.size > 1 and path.startswith("labels") and self.columns[path].classes
            if pure and len(np.unique(array)) == 1:
                self.pure_batches += 1
        counts = [rows for _, rows in row_counts(batch)]
        self._see_rows([array for _, array in leaves], counts)

    def _see_rows(self, arrays: list[np.ndarray], rows: list[int | None]) -> None:
        if rows != [array.shape[0] if array.ndim else None for array in arrays]:
            self.rows = None  # values of ragged and sparse tensors do not tell which row is which
            return
        counts = set(rows)
        count = counts.pop() if len(counts) == 1 else None
        if count is None or self.rows is None:
            self.rows = None
            return
        self.rows += count
        here: set[bytes] = set()
        for at in range(count):
            row = _fingerprint([array[at] for array in arrays])
            self.again_in_batch += row in here
            self.again += row in self._seen and row not in here
            here.add(row)
        self._seen |= here


def _dtype(array: np.ndarray) -> str:
    return "string" if array.dtype.kind in "OSU" else array.dtype.name


def _fingerprint(parts: list[Any]) -> bytes:
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        array = np.asarray(part)
        text = array.dtype.kind in "OSU"
        digest.update(repr(array.tolist()).encode() if text else array.tobytes())
    return digest.digest()
