"""Arrays whose rows are the elements: what was given by the user, or file names and labels."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import NoDataError, SourceError
from estimator_io.ops import locate, rows
from estimator_io.ops.order import epoch_in_order, epoch_order
from estimator_io.plan.calls import Call, Named, is_namedtuple
from estimator_io.plan.identity import sample
from estimator_io.plan.parallel import parallel
from estimator_io.sources import listing
from estimator_io.sources.base import Order, RandomAccessSource
from estimator_io.sources.blocks import block_calls, rows_in_block
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.split import check_split

__all__ = ["TableSource", "as_columns"]

# Arrays up to this size go into the graph as constants, so that no Python is called at all. Larger
# ones stay outside, since every checkpoint and event file holds a copy of the graph.
EMBEDDED_BYTES = 256 * 1024
# What is sent to other hosts is in no checkpoint. Paths of 64 bytes: a million files.
EMBEDDED_BYTES_OF_SERVICE = 64 * 1024 * 1024
# Rows taken from the arrays at once where later stages work row by row: enough to make the call's
# cost vanish, little enough to hold in a cache.
BLOCK_ROWS = 256
BLOCK_BYTES = 1 << 20


class TableSource(RandomAccessSource):
    """Rows of equally long arrays, reached by index.

    Args:
      columns: an array, or a dict or tuple of them, nested as the elements shall be.
      named: the same structure with a `Named` for each array, as the printed program calls them.
      decode: what turns one row into (features, labels, weights), if anything must.
      words: what the rows are, for the repr.
      files: the files that `decode` reads, if any.
      split: ("train", fraction) or ("validation", fraction): the part of the rows to use.
    """

    starts_anywhere = True
    takes_blocks = True
    holds_arrays = True

    def __init__(
        self,
        columns: Any,
        *,
        named: Any,
        decode: Any = None,
        words: str = "rows of arrays",
        files: Sequence[str] = (),
        split: Any = None,
    ) -> None:
        self._arrays = list(leaves(columns, "columns").values())
        self._named = named
        self._words = words
        self.files = files
        self.waits = any("://" in file for file in files)
        self._rows = None if split is None else _split_rows(len(self._arrays[0]), split)
        self.decode = decode

    def identity(self) -> Any:
        """Returns the arrays, and size and time of change of the files they name."""
        return (
            self._arrays,
            None if self._rows is None else self._rows.value,
            file_identity(self.files),
        )

    def order_identity(self) -> Any:
        """Returns a sample of the arrays and which rows are kept; paths as seen from their folder.

        A data set that was moved, copied or touched still has its rows in their places.
        """
        arrays = self._arrays
        if self.files:
            arrays = [np.array(relative_paths(self.files), object), *arrays[1:]]
        kept = None if self._rows is None else sample(np.asarray(self._rows.value))
        return ([sample(array) for array in arrays], kept)

    @property
    def num_rows(self) -> int:
        """Rows in the arrays, or in the part of them that the split keeps."""
        return len(self._arrays[0] if self._rows is None else self._rows.value)

    def rows_in(self, shard: tuple[int, int]) -> int:
        """Returns the rows of the part (index, count): every count-th."""
        index, count = shard
        return len(range(index, self.num_rows, count))

    @property
    def row_bytes(self) -> int:
        """Bytes of one row over all arrays."""
        return max(1, self._nbytes // len(self._arrays[0]))

    @property
    def embedded(self) -> bool:
        """Whether the arrays stand in the graph, rather than in the host's memory alone."""
        return self._nbytes <= EMBEDDED_BYTES

    @property
    def _nbytes(self) -> int:
        return sum(_nbytes(array) for array in self._arrays)

    def local_files(self) -> Sequence[str]:
        """Returns the files that `decode` reads, of those on this host."""
        return [file for file in self.files if "://" not in file]

    def describe(self) -> str:
        """Returns the number of rows and what they are."""
        place = "" if self.embedded else ", kept outside the graph"
        return f"{self.num_rows:,} {self._words}{place}"

    def calls(self, order: Order) -> list[Call]:
        """Returns: indices in order, in blocks, and the rows at these indices."""
        most = BLOCK_ROWS if order.split is None else rows_in_block(self.num_rows)
        block = order.block or max(1, min(most, BLOCK_BYTES // self.row_bytes))
        return [
            *self.index_calls(order),
            Call("read", "batch", (block,)),
            *self.take_calls(order),
        ]

    def take_calls(self, order: Order) -> list[Call]:
        """Returns: the rows that the split keeps, and the rows of the arrays."""
        chosen = [] if self._rows is None else [self._take(self._rows, order)]
        return [*chosen, self._take(self._named, order)]

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns the same rows in the same order, each with its index; none of them can fail."""
        del note
        taking = self.located_take_calls(order)
        return [*self.calls(order)[: -len(taking)], *taking]

    def located_take_calls(self, order: Order) -> list[Call]:
        """Returns: the rows that the split keeps, and these rows with their indices."""
        *chosen, taking = self.take_calls(order)
        (take,) = taking.args
        located = functools.partial(locate.rows_at, take=take)
        return [*chosen, dataclasses.replace(taking, args=(located,))]

    def key_calls(self, order: Order) -> list[Call]:
        """Returns the calls that yield the key of each row: its path, or its number."""
        key = functools.partial(locate.key_alone, key_of=self.key_of)
        return [
            *self.located_calls(order, None),
            Call("key", "map", (key,)),
            Call("key", "unbatch"),
        ]

    def keys_by_number(self, order: Order) -> list[Call]:
        """Returns the calls that yield the key of each row, where its number alone tells it."""
        key = functools.partial(locate.key_alone, row=None, key_of=self.key_of)
        chosen = [] if self._rows is None else [self._take(self._rows, order)]
        return [
            *self.index_calls(order),
            Call("key", "batch", (BLOCK_ROWS,)),
            *chosen,
            Call("key", "map", (key,)),
            Call("key", "unbatch"),
        ]

    @property
    def key_of(self) -> Any:
        """Keys are the paths of files, else the indices of the rows."""
        return locate.path_key if self.files else locate.number_key

    def place(self, where: int) -> dict[str, Any]:
        """Returns the file, or the row."""
        return {"file": os.fspath(self.files[where])} if self.files else {"row": where}

    def _take(self, columns: Any, order: Order) -> Call:
        most = EMBEDDED_BYTES if order.split is None else EMBEDDED_BYTES_OF_SERVICE
        take = rows.take_rows if self._nbytes <= most else rows.take_rows_from_host
        call = functools.partial(take, columns=columns)
        return Call("read", "map", (call,), parallel(order.read_calls))

    def index_calls(self, order: Order) -> list[Call]:
        """Returns: a range, or the order of each epoch, or of blocks that workers share out."""
        if order.split is not None:
            return block_calls(order, self.num_rows)
        index, count = order.shard
        start = order.start
        if not order.shuffle and start is None:
            rows_to_read = (index, self._counted("rows"), count)
            return [Call("source", "range", rows_to_read), *repeat_calls(order)]
        size = self._counted("size", first=index, step=count)
        kwargs: dict[str, Any] = {"size": size, "first": index, "step": count}
        if start is not None and start.skip_rows is not None:
            kwargs["start"] = (start.first_epoch, start.skip_rows)
        if not order.shuffle:
            rows_of = functools.partial(epoch_in_order, **kwargs)
            return [epoch_numbers(order), Call("source", "flat_map", (rows_of,))]
        rows_of = functools.partial(epoch_order, seed=order.seed, **kwargs)
        return [epoch_numbers(order), Call("shuffle", "flat_map", (rows_of,))]

    def _counted(self, name: str, **share: int) -> Named | int:
        """Returns a number of rows that a printed program counts for itself."""
        rows = self._rows or next(iter(leaves(self._named, "").values()))
        if listing.count_rows(rows.value) != self.num_rows:  # rows that are no array's
            return len(range(share.get("first", 0), self.num_rows, share.get("step", 1)))
        if not share:
            return Named(name, self.num_rows, functools.partial(listing.count_rows, rows))
        value = len(range(share["first"], self.num_rows, share["step"]))
        recipe = functools.partial(listing.count_rows_of_worker, rows, **share)
        return Named(name, value, recipe)


def _split_rows(size: int, split: Any) -> Named:
    part, fraction = check_split(split)
    recipe = functools.partial(listing.split_rows, size, part=part, fraction=fraction)
    kept = listing.split_rows(size, part=part, fraction=fraction)
    if not len(kept):
        raise NoDataError(
            f"split={split!r} leaves none of {size} rows. Expected: at least one. Give more rows or"
            " another fraction."
        )
    return Named("kept_rows", kept, recipe)


def relative_paths(files: Sequence[str]) -> list[str]:
    """Returns paths without the folder that all of them share."""
    # What the first and the last in sorted order share, all share.
    pairs = zip(min(files).split("/")[:-1], max(files).split("/")[:-1], strict=False)
    same = itertools.takewhile(lambda pair: pair[0] == pair[1], pairs)
    shared = sum(len(name) + 1 for name, _ in same)
    return [file[shared:] for file in files]


def _nbytes(array: np.ndarray) -> int:
    """Bytes that the graph would hold; an array of objects holds texts."""
    return sum(map(len, array.flat)) if array.dtype.kind == "O" else array.nbytes


def as_columns(data: Any, name: str) -> tuple[Any, Any]:
    """Returns (`data` with its leaves as NumPy arrays, the same with each leaf a `Named`).

    Raises:
      SourceError: an array has no rows dimension, another length than the first, or holds Python
        objects.
      NoDataError: the arrays have no row.
    """
    arrays = {path: _as_array(leaf, path) for path, leaf in leaves(data, name).items()}
    if not arrays:
        raise SourceError(f"{name} is empty. Expected: at least one array. Received: {data!r}.")
    require_same_length(arrays)
    named = {path: Named(_variable(path), array) for path, array in arrays.items()}
    return _rebuild(data, name, arrays), _rebuild(data, name, named)


def require_same_length(arrays: Mapping[str, np.ndarray]) -> None:
    """Checks that arrays, by the names they have for the user, hold the same number of rows.

    Raises:
      SourceError: they do not.
      NoDataError: they hold none.
    """
    first, rows = next((path, len(array)) for path, array in arrays.items())
    for path, array in arrays.items():
        if len(array) != rows:
            raise SourceError(
                f"{path} has {len(array):,} rows, but {first} has {rows:,}. Expected: the same"
                " number of rows in every array."
            )
    if not rows:
        raise NoDataError(f"{first} has no rows. Expected: at least one.")


def file_identity(files: Sequence[str]) -> list[tuple[str, int, int]]:
    """Returns (path, bytes, time of change in nanoseconds) of each file."""
    facts = []
    for file in files:
        if "://" in file:
            stat = tf.io.gfile.stat(file)
            facts.append((file, stat.length, stat.mtime_nsec))
        else:
            info = os.stat(file)
            facts.append((os.path.abspath(file), info.st_size, info.st_mtime_ns))
    return facts


def leaves(data: Any, name: str) -> dict[str, Any]:
    """Returns the leaves of nested dicts and tuples by their paths, such as "x['age']"."""
    return dict(_walk(data, name))


def _walk(data: Any, path: str) -> list[tuple[str, Any]]:
    if isinstance(data, Mapping):
        return [leaf for key in data for leaf in _walk(data[key], f"{path}[{key!r}]")]
    if type(data) is tuple or is_namedtuple(data):
        return [leaf for at, item in enumerate(data) for leaf in _walk(item, f"{path}[{at}]")]
    return [(path, data)]


def _rebuild(data: Any, path: str, found: Mapping[str, Any]) -> Any:
    if isinstance(data, Mapping):
        return {key: _rebuild(data[key], f"{path}[{key!r}]", found) for key in data}
    if type(data) is tuple:
        return tuple(_rebuild(item, f"{path}[{at}]", found) for at, item in enumerate(data))
    if is_namedtuple(data):
        items = (_rebuild(item, f"{path}[{at}]", found) for at, item in enumerate(data))
        kind: Any = type(data)
        return kind._make(items)
    return found[path]


def _variable(path: str) -> str:
    name = "".join(c if c.isalnum() else "_" for c in path)
    while "__" in name:
        name = name.replace("__", "_")
    return name.strip("_")


def _as_array(value: Any, path: str) -> np.ndarray:
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        raise SourceError(
            f"{path} is a masked array, and its masked values would become data. Expected: an"
            " array without missing values. Fill them first, with value.filled(…)."
        )
    array = _plain_array(value, path)
    if array.ndim == 0:
        raise SourceError(f"{path} is a single value, {value!r}. Expected: an array of rows.")
    if array.dtype.kind == "U":
        return np.char.encode(array, "utf-8").astype(object)
    if array.dtype.kind == "S":
        return array.astype(object)
    if array.dtype.kind == "O":
        return _as_strings(array, path)
    try:
        tf.as_dtype(array.dtype)
    except TypeError:
        raise SourceError(
            f"{path} has a dtype that TensorFlow does not have. Received: {array.dtype}. Expected:"
            " numbers, booleans or strings. Convert the array, for example with astype('int64')."
        ) from None
    return array


def _plain_array(value: Any, path: str) -> np.ndarray:
    try:
        array = value if type(value) is np.ndarray else np.asarray(value)
        if array.dtype.kind in "SU" and array is not value:  # which lost zeros at the texts' ends
            texts = np.asarray(value, object)
            exact = all(isinstance(text, (str, bytes)) for text in texts.flat)
            array = texts if exact else array
        return array
    except ValueError as error:
        raise SourceError(
            f"{path} is no array: its rows have different shapes ({error}). Expected: rows of one"
            " shape. Give a generator function for rows of uneven length."
        ) from None


def _as_strings(array: np.ndarray, path: str) -> np.ndarray:
    encoded = np.empty(array.shape, object)
    for at, item in np.ndenumerate(array):
        if not isinstance(item, (str, bytes)):
            raise SourceError(
                f"{path} holds Python objects: row {at[0]} is {item!r} of type"
                f" {type(item).__name__}. Expected: numbers, booleans or strings alone. Convert the"
                " array, for example with astype('float32')."
            )
        encoded[at] = item.encode() if isinstance(item, str) else item
    return encoded
