"""TFRecord files by index: any record at once, uniformly shuffled, and counted."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.ops import indexed_records as ops
from estimator_io.ops import locate
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.identity import sample
from estimator_io.plan.parallel import parallel
from estimator_io.sources.base import Order
from estimator_io.sources.files import FileList
from estimator_io.sources.lines import INDEXED_FILES, blocks
from estimator_io.sources.table import TableSource, file_identity, relative_paths

__all__ = ["IndexedRecords", "index_paths", "is_indexed"]

# Of more bytes in all the walk over the lengths may take longer than a first batch should.
INDEXED_BYTES = 8 << 30


class IndexedRecords(TableSource):
    """The records of uncompressed TFRecord files, by index.

    A walk over the lengths finds where the records begin, which takes 16 bytes of memory a record.
    Remote files are held in memory whole.

    Args:
      files: the files.
      decode: parses one record; None leaves it serialized.
      decode_batch: parses a batch of records at once.
      served: as in `RecordSource`.
      index_files: for each file the index files to read, or to write the first of; None keeps the
        index in memory.
      split: the part of the rows to use.
      rows: the rows to use, where no split says it.

    Raises:
      NoDataError: no file holds a record, or the split leaves none.
      SourceError: a length in a file is damaged, or a file is cut short or of another format.
    """

    holds_arrays = False

    def __init__(
        self,
        files: FileList,
        *,
        decode: Any,
        decode_batch: Any,
        served: Mapping[str, Any] | None = None,
        index_files: list[list[str]] | None = None,
        split: Any = None,
        rows: Named | None = None,
    ) -> None:
        opened = ops.open_records(files.value)
        contents = Named("contents", opened, functools.partial(ops.open_records, files))
        try:
            found = ops.index_records(opened, files=files.value, index_files=index_files)
        except ValueError as error:
            raise SourceError(
                f"{error} Expected: a TFRecord file of compression ''. Check the path and"
                " compression=…"
            ) from error
        if not len(found[0]):
            raise NoDataError(
                f"None of the {len(files.value)} TFRecord files holds a record, the first of"
                f" them {files.value[0]!r}. Expected: at least one record."
            )
        walk = functools.partial(ops.index_records, contents, files=files, index_files=index_files)
        index = Named("index", found, walk)
        super().__init__(found[0], named=index, files=files.value, split=split)
        if rows is not None:
            self._rows = rows
        self.decode = decode
        self.decode_batch = decode_batch
        self.served = served
        self._paths, self._index, self._first_rows = files, index, found[2]
        self._mean_bytes = max(1, int(found[1].mean()))
        self._take_records = functools.partial(
            ops.take_records, contents=contents, files=files, index=index
        )

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns blocks of (number, record); a damaged record is an error that names it."""
        del note
        return [
            *self.index_calls(order),
            Call("read", "batch", (blocks(None, self._mean_bytes)[0],)),
            *self.located_take_calls(order),
        ]

    def located_take_calls(self, order: Order) -> list[Call]:
        """Returns: the rows that the split keeps, and (number, record) of these rows."""
        take = functools.partial(locate.rows_at, take=self._take_records)
        return [
            *([] if self._rows is None else [self._take(self._rows, order)]),
            Call("read", "map", (take,), parallel(order.read_calls)),
        ]

    def key_calls(self, order: Order) -> list[Call]:
        """Returns the calls that yield the key of each row."""
        return self.keys_by_number(order)

    @property
    def key_of(self) -> functools.partial[Any]:
        """Keys are path#record, from 0."""
        first_rows = self._first_rows
        keys = ops.record_keys(files=self.files, index=(None, None, first_rows))
        recipe = functools.partial(ops.record_keys, files=self._paths, index=self._index)
        return functools.partial(locate.listed_key, keys=Named("keys", keys, recipe))

    def place(self, where: int) -> dict[str, Any]:
        """Returns the file and the record in it."""
        file = int(np.searchsorted(self._first_rows, where, side="right")) - 1
        return {"file": self.files[file], "record": int(where - self._first_rows[file])}

    def identity(self) -> Any:
        """Returns size and time of change of the files, and which rows are kept."""
        kept = None if self._rows is None else self._rows.value
        return (file_identity(self.files), kept)

    def order_identity(self) -> Any:
        """Returns the names of the files, and a sample of where records begin and are kept."""
        kept = None if self._rows is None else sample(np.asarray(self._rows.value))
        return (relative_paths(self.files), sample(self._arrays[0]), kept)

    def describe(self) -> str:
        """Returns the number of records and files."""
        return f"{self.num_rows:,} records of {len(self.files):,} TFRecord files, indexed"

    def calls(self, order: Order) -> list[Call]:
        """Returns: indices in order, in blocks, and the records at these indices."""
        at_once, split = blocks(order.block, self._mean_bytes)
        return [
            *self.index_calls(order),
            Call("read", "batch", (at_once,)),
            *self.take_calls(order),
            *split,
        ]

    def take_calls(self, order: Order) -> list[Call]:
        """Returns: the rows that the split keeps, and their records."""
        chosen = [] if self._rows is None else [self._take(self._rows, order)]
        return [*chosen, Call("read", "map", (self._take_records,), parallel(order.read_calls))]


def is_indexed(files: Sequence[str], compression: str, index: Any) -> bool:
    """Returns whether records are read by index: as the user says, or where it costs little.

    Raises:
      OptionError: index is no choice, or cannot be had.
    """
    if index is None:
        if compression or len(files) > INDEXED_FILES or any("://" in file for file in files):
            return False
        return sum(map(os.path.getsize, files)) <= INDEXED_BYTES
    if not isinstance(index, (bool, str, os.PathLike)) or index == "":
        raise OptionError(
            f"index is no choice. Received: {index!r}. Expected: True, False, 'beside', the folder"
            " to keep index files in, or None."
        )
    if index is not False and compression:
        raise OptionError(
            f"index={index!r} contradicts compression={compression!r}: a compressed file can only"
            " be read from its beginning. Expected: index=False or None, or files that are not"
            " compressed."
        )
    return index is not False


def index_paths(files: Sequence[str], index: Any) -> list[list[str]] | None:
    """Returns for each file the index files that belong to it; None where none is kept.

    Raises:
      OptionError: an index shall be kept of remote files.
    """
    if index is None or isinstance(index, bool):
        return None
    if any("://" in file for file in files):
        raise OptionError(
            f"index={index!r} would keep an index of remote files, which are held in memory whole."
            " Expected: index=True, or False to read them as a stream."
        )
    if index == "beside":
        return [[file + ".idx", file + ".index"] for file in files]
    names = relative_paths([os.path.abspath(file) for file in files])
    return [[os.path.join(os.fspath(index), name) + ".idx"] for name in names]
