"""torch's DataLoader over a map-style Dataset, with worker processes that stay."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, SequentialSampler

from benchmarks.loaders.cases import Case
from benchmarks.loaders.rows import FileRows, Table, is_table

__all__ = ["open_batches"]


class _Files(Dataset):
    """One file an index; DataLoader's own collation makes batches of tensors."""

    def __init__(self, rows: FileRows) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows)

    def __getitem__(self, index: int) -> Any:
        return self._rows[index]


class _Batches(Dataset):
    """One batch an index, which is a list of rows: how tables in memory are read fast."""

    def __init__(self, table: Table) -> None:
        self._table = table

    def __getitem__(self, indices: list[int]) -> Any:
        return self._table.batch(indices)


def open_batches(
    loader: str, case: Case, files: list[str], *, shuffle: bool, workers: int
) -> Iterator[Any]:
    """Yields batches: endlessly in random order, or once in the order of the files."""
    options: dict[str, Any] = {"num_workers": workers, "persistent_workers": True}
    if is_table(case):
        table = Table(case, files)
        rows = RandomSampler(table) if shuffle else SequentialSampler(table)  # pyright: ignore[reportArgumentType] (only its length is asked for)
        batches = BatchSampler(rows, case.batch_size, drop_last=False)
        made = DataLoader(_Batches(table), batch_size=None, sampler=batches, **options)
    else:
        files_by_index = _Files(FileRows(case, files, draft=loader == "torch draft"))
        made = DataLoader(files_by_index, batch_size=case.batch_size, shuffle=shuffle, **options)
    while True:
        yield from made
        if not shuffle:
            return
