"""Keras 3's PyDataset with worker threads, through the adapter that `fit` reads it by.

Worker processes would be forked beside TensorFlow's threads, where they hang. PIL and soundfile let
other threads run while they decode.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from benchmarks.loaders.cases import Case
from benchmarks.loaders.rows import FileRows, Table, is_table

__all__ = ["open_batches"]


class _Batches(keras.utils.PyDataset):  # pyright: ignore[reportGeneralTypeIssues] (Keras 2 has none)
    """Batches of rows in random order, another one each epoch."""

    def __init__(self, rows: FileRows | Table, batch_size: int, *, shuffle: bool, **options: Any):
        super().__init__(**options)
        self._rows = rows
        self._batch_size = batch_size
        self._random = np.random.default_rng(0) if shuffle else None
        self._order = np.arange(len(rows))
        self.on_epoch_end()

    def __len__(self) -> int:
        return -(-len(self._rows) // self._batch_size)

    def __getitem__(self, index: int) -> Any:
        start = index * self._batch_size
        return self._rows.batch(self._order[start : start + self._batch_size])

    def on_epoch_end(self) -> None:
        if self._random is not None:
            self._random.shuffle(self._order)


def open_batches(
    loader: str, case: Case, files: list[str], *, shuffle: bool, workers: int
) -> Iterator[Any]:
    """Yields batches: endlessly in random order, or once in the order of the files."""
    from keras.src.trainers.data_adapters.py_dataset_adapter import PyDatasetAdapter

    del loader
    rows = Table(case, files) if is_table(case) else FileRows(case, files)
    batches = _Batches(
        rows,
        case.batch_size,
        shuffle=shuffle,
        workers=workers,
        use_multiprocessing=False,
    )
    adapter = PyDatasetAdapter(batches, shuffle=False)
    while True:
        adapter.on_epoch_begin()
        yield from adapter.get_tf_dataset()
        adapter.on_epoch_end()
        if not shuffle:
            return
