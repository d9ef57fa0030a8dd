"""Grain's dataset API with worker processes that hand over whole batches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grain

from benchmarks.loaders.cases import Case
from benchmarks.loaders.rows import FileRows, Table, is_table

__all__ = ["open_batches"]


def open_batches(
    loader: str, case: Case, files: list[str], *, shuffle: bool, workers: int
) -> Iterator[Any]:
    """Yields batches: endlessly in random order, or once in the order of the files."""
    del loader
    if is_table(case):
        table = Table(case, files)
        indices = _mixed(grain.MapDataset.range(len(table)), shuffle)
        batches = indices.batch(case.batch_size).map(table.batch).to_iter_dataset()
    else:
        rows = _mixed(grain.MapDataset.source(FileRows(case, files)), shuffle)
        batches = rows.to_iter_dataset().batch(case.batch_size)
    if not shuffle:
        return iter(batches)  # workers take turns by row, so batches would hold other rows
    options = grain.MultiprocessingOptions(num_workers=workers)
    return iter(batches.mp_prefetch(options))


def _mixed(rows: Any, shuffle: bool) -> Any:
    return rows.shuffle(seed=0).repeat() if shuffle else rows
