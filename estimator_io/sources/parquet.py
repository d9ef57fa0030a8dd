"""Parquet and Arrow files: rows by row group, read by pyarrow."""

from __future__ import annotations

import functools
import math
from collections.abc import Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.ops import locate, parquet
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.parallel import parallel
from estimator_io.sources.base import Order, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.files import FileList
from estimator_io.sources.table import BLOCK_ROWS, file_identity

__all__ = ["ParquetSource", "column_type", "read_schema"]

# Rows that are mixed at once in training, where the user gave no number.
DEFAULT_MIXED_ROWS = 100_000
# Windows of row groups that are read at once: each holds all its rows in memory.
READS_AT_ONCE = 2


class ParquetSource(Source):
    """The rows of Parquet and Arrow files, whose row groups are read whole.

    Training reads the groups in a new random order in each epoch, as many at once as hold the rows
    of the shuffle, and mixes all rows of these.

    Args:
      files: the files.
      columns: dtype and shape of a row of each column to read, by name.
      defaults: what a missing value becomes, by column.
      label: the column of labels, if any.
      weight: the column of weights, if any.

    Raises:
      NoDataError: no file holds a row.
    """

    takes_blocks = True

    def __init__(
        self,
        files: FileList,
        columns: Mapping[str, tuple[tf.DType, list[int]]],
        *,
        defaults: Mapping[str, Any],
        label: str | None,
        weight: str | None,
    ) -> None:
        footers = Named(
            "footers",
            parquet.read_footers(files.value),
            functools.partial(parquet.read_footers, files),
        )
        self._files = files
        self.files = files.value
        self.waits = any("://" in file for file in files.value)
        self._groups = Named(
            "groups",
            parquet.list_groups(files.value, footers.value),
            functools.partial(parquet.list_groups, files, footers),
        )
        if not len(self._groups.value[0]):
            raise NoDataError(
                f"None of the {len(files.value):,} files holds a row, the first of them"
                f" {files.value[0]!r}. Expected: at least one."
            )
        self._facts = {
            "columns": {name: dtype for name, (dtype, _) in columns.items()},
            "shapes": {name: shape for name, (_, shape) in columns.items()},
            "defaults": dict(defaults),
            "label": label,
            "weight": weight,
        }
        self._tables = {"files": files, "footers": footers, "groups": self._groups}

    @property
    def num_rows(self) -> int:
        """Rows in all files, as their footers say."""
        return int(self._groups.value[3].sum())

    def rows_in(self, shard: tuple[int, int]) -> int | None:
        """Returns the rows of the part (index, count), where it consists of whole row groups."""
        index, count = shard
        by_group = count <= self.num_groups
        return int(self._groups.value[3][index::count].sum()) if by_group else None

    @property
    def num_groups(self) -> int:
        """Row groups in all files that hold a row."""
        return len(self._groups.value[0])

    def identity(self) -> Any:
        """Returns the columns, and size and time of change of the files."""
        return (self._facts, file_identity(self._files.value))

    def describe(self) -> str:
        """Returns the number of rows, row groups and files."""
        return (
            f"{self.num_rows:,} rows in {self.num_groups:,} row groups of"
            f" {len(self._files.value):,} files"
        )

    def describe_shuffle(self, buffer_size: int) -> str:
        """Returns what is mixed at once."""
        window = self._window(buffer_size, self.num_groups)
        if window == self.num_groups:
            return f"all {self.num_rows:,} rows at once"
        return f"row groups by index, the rows of {window:,} of them at once"

    def rows_held(self, buffer_size: int) -> int:
        """Returns the rows of the windows that are read at once."""
        mean = self.num_rows / self.num_groups
        return math.ceil(self._window(buffer_size, self.num_groups) * mean) * READS_AT_ONCE

    def calls(self, order: Order) -> list[Call]:
        """Returns: row groups in order, their rows, in blocks."""
        return self._calls(order, {})

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns the same rows in the same order, with their numbers over all files."""
        return self._calls(order, {"located": True, "note": note})

    @property
    def key_of(self) -> functools.partial[Any]:
        """Keys are path#row_group/row, the row counted in its file, from 0."""
        told = {"files": self._files, "groups": self._groups}
        values = {name: named.value for name, named in told.items()}
        recipe = functools.partial(parquet.row_keys, **told)
        keys = Named("keys", parquet.row_keys(**values), recipe)
        return functools.partial(locate.listed_key, keys=keys)

    def place(self, where: int) -> dict[str, Any]:
        """Returns the file, the row group and the row in the file, from 0."""
        file, group, row = parquet.row_place(where, self._groups.value)
        return {"file": self._files.value[file], "row_group": group, "row": row}

    def _calls(self, order: Order, locating: Mapping[str, Any]) -> list[Call]:
        index, count = order.shard
        by_group = count <= self.num_groups
        first, step = (index, count) if by_group else (0, 1)
        facts = {**self._tables, **self._facts, **locating}
        if not by_group:
            facts["shard"] = order.shard
        at_once = parallel(order.read_calls or READS_AT_ONCE)
        if order.shuffle:
            size = math.ceil((self.num_groups - first) / step)
            where = {"size": size, "seed": order.seed, "first": first, "step": step}
            window = self._window(order.buffer_size, size)
            epoch = functools.partial(parquet.groups_of_epoch, **where, window=window)
            read = functools.partial(
                parquet.read_groups_mixed, size=self.num_groups, seed=order.seed, **facts
            )
            calls = [epoch_numbers(order), Call("shuffle", "flat_map", (epoch,))]
        else:
            read = functools.partial(parquet.read_groups, **facts)
            groups = Call("source", "range", (first, self.num_groups, step))
            calls = [groups, *repeat_calls(order)]
        return [
            *calls,
            Call("read", "map", (read,), at_once),
            Call("read", "rebatch", (order.block or BLOCK_ROWS,)),
        ]

    def _window(self, buffer_size: int, groups: int) -> int:
        """Returns how many of `groups` row groups are mixed at once."""
        rows = DEFAULT_MIXED_ROWS if buffer_size == self.num_rows else buffer_size
        mean = self.num_rows / self.num_groups
        return max(1, min(groups, math.ceil(rows / mean)))


def read_schema(files: Sequence[str]) -> Any:
    """Returns the pyarrow schema that all files share.

    Raises:
      SourceError: pyarrow is missing, a file cannot be read, or one has other columns.
    """
    try:
        import pyarrow as pa
    except ImportError as error:
        raise SourceError(
            "Parquet and Arrow files are read by pyarrow, which is not installed. Run"
            " pip install 'estimator-io[parquet]'."
        ) from error
    first = None
    for file in files:
        try:
            table = parquet.open_table(file)
        except (pa.ArrowException, ValueError, OSError, tf.errors.OpError) as error:
            raise SourceError(f"{file!r} cannot be read: {error}") from error
        schema = table.schema_arrow if hasattr(table, "schema_arrow") else table.schema
        schema = schema.remove_metadata()
        if first is None:
            first = schema
        elif not schema.equals(first):
            raise SourceError(
                f"{file!r} has other columns than {files[0]!r}. Received: {_spell(schema)}."
                f" Expected: {_spell(first)}. Name files apart that have other columns."
            )
    return first


def _spell(schema: Any) -> str:
    return ", ".join(f"{field.name}: {field.type}" for field in schema)


def column_type(kind: Any, name: str) -> tuple[tf.DType, list[int]]:
    """Returns (dtype, shape of a row) of a column of Arrow type `kind`.

    Raises:
      OptionError: TensorFlow has no type for it.
    """
    import pyarrow.types as types

    if types.is_dictionary(kind):
        return column_type(kind.value_type, name)
    if types.is_fixed_size_list(kind):
        dtype, shape = column_type(kind.value_type, name)
        return dtype, [kind.list_size, *shape]
    if types.is_string(kind) or types.is_large_string(kind):
        return tf.string, []
    if types.is_binary(kind) or types.is_large_binary(kind):
        return tf.string, []
    if types.is_integer(kind) or types.is_floating(kind) or types.is_boolean(kind):
        return tf.as_dtype(kind.to_pandas_dtype()), []
    raise OptionError(
        f"Column {name!r} is of type {kind}, for which TensorFlow has none. Expected: numbers,"
        " booleans, texts, dictionaries of these, or lists of one fixed size. Leave it out with"
        " columns=[…], or write the file with another type (times as numbers, for example)."
    )
