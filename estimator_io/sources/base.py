"""What every source of rows tells a pipeline, and the order it is asked for."""

from __future__ import annotations

import abc
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.ops import locate
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.start import Start
from estimator_io.sources.skipped import Skipped

__all__ = ["Order", "RandomAccessSource", "Source"]


@dataclasses.dataclass(frozen=True)
class Order:
    """The order and the part of a source that one pipeline reads.

    Attributes:
      shuffle: whether the rows come in a new random order in each epoch.
      epochs: passes over the source; None is endless.
      seed: what the random orders depend on, beside the epoch.
      buffer_size: rows of the shuffle buffer where a source cannot be shuffled by index.
      shard: (index, count): the part of the rows that belongs to this worker.
      passes: counts the passes begun over a finite Dataset that Keras iterates again and again.
      interleave: files read at once, for sources that interleave files.
      read_calls: calls that the read may make at once; None leaves it to AUTOTUNE.
      block: rows to take at once, where the source can take many.
      start: the epochs to read where an interrupted training goes on. `start.skip_rows` is given to
        sources that start anywhere: they pass over these rows of the first epoch without reading.
      split: how the workers of a service share the rows out: "dynamic", "static" or "off"; None
        where one pipeline reads them all.
    """

    shuffle: bool
    epochs: int | None
    seed: int
    buffer_size: int
    shard: tuple[int, int] = (0, 1)
    passes: Named | None = None
    interleave: int = 16
    read_calls: int | None = None
    block: int | None = None
    start: Start | None = None
    split: str | None = None


class Source(abc.ABC):
    """A place that rows come from.

    Attributes:
      decode: turns what `rows` yields into a row's (features, labels, weights), row by row; None
        where the rows are that already.
      decode_batch: does the same for a batch of rows at once; None where only `decode` can.
      read_row: where `decode_batch` takes more than the rows themselves, turns a row into what it
        takes; None else.
      starts_anywhere: whether `calls` passes over `Order.start.skip_rows` rows, unread.
      takes_blocks: whether `rows` yields batches of rows, `Order.block` of them at a time.
      holds_rows: whether the source is known to hold a row, without reading it.
      waits: whether reading a row waits for a network.
      row_splits: the dtype of the row splits of RaggedTensors that rows of uneven length become in
        a batch; None where rows are of one length.
      holds_arrays: whether taking a row by its number costs neither reading nor parsing.
      files: the files that the rows depend on.
      class_names: the classes that integer labels stand for, where the source knows them.
      decode_located: turns blocks of what `located_calls` yields into rows, where `calls` does that
        by itself; None where `decode` and `decode_batch` do it.
    """

    decode_located: Any = None
    decode: Any = None
    decode_batch: Any = None
    read_row: Any = None
    starts_anywhere: bool = False
    takes_blocks: bool = False
    holds_rows: bool = True
    waits: bool = False
    row_splits: Any = None
    holds_arrays: bool = False
    files: Sequence[str] = ()
    class_names: tuple[str, ...] | None = None

    @property
    @abc.abstractmethod
    def num_rows(self) -> int | None:
        """Rows in one epoch; None where only reading them all would tell."""

    def rows_in(self, shard: tuple[int, int]) -> int | None:
        """Returns the rows of the part (index, count); None where only reading would tell."""
        return self.num_rows if shard[1] == 1 else None

    @functools.cached_property
    def measured(self) -> dict[Any, Any]:
        """What pipelines found out about the rows of this source, kept so that it is asked once."""
        return {}

    @property
    def indexed(self) -> bool:
        """Whether any row can be had by its index, so that shuffling needs no buffer."""
        return self.num_rows is not None

    @abc.abstractmethod
    def calls(self, order: Order) -> list[Call]:
        """Returns the calls that yield the rows in `order`."""

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns the calls that yield (where, row) in `order`, blocks of both with `takes_blocks`.

        Args:
          order: as for `calls`.
          note: called with the `where` (int64, which `place` understands) of what cannot be read,
            and why; the source goes on behind it. None where that is an error.

        Raises:
          OptionError: rows of this source cannot be told apart.
        """
        del order, note
        raise OptionError(
            f"key and on_error='skip' need rows that can be told apart. Received:"
            f" {self.describe()}. Expected: files, arrays, records, lines, tables or a function;"
            " in a mixture give them to the input functions that are mixed."
        )

    @property
    def key_of(self) -> Any:
        """A function of (where, row) of one row, or of a block, that returns the keys: string."""
        return locate.number_key

    @property
    def tells_rows(self) -> bool:
        """Whether rows can be told apart."""
        return type(self).located_calls is not Source.located_calls

    def list_skipped_in(self, folder: str | None) -> None:
        """Says where what is skipped is listed if the user names no other place."""
        self.skipped.folder = folder

    def place(self, where: int) -> dict[str, Any]:
        """Returns where row `where` stands: file, and record, line or row."""
        return {"row": where}

    def first_damage(self) -> str | None:
        """Returns what is wrong with the first unreadable part of the source, by a full look."""
        return None

    @functools.cached_property
    def skipped(self) -> Skipped:
        """The rows of this source that were skipped."""
        return Skipped(self.place)

    @abc.abstractmethod
    def identity(self) -> Any:
        """Returns what the rows depend on, in values that `plan.identity.digest` takes."""

    def order_identity(self) -> Any:
        """Returns what the number and the order of the rows depend on, as cheaply as can be.

        Training that goes on checks it; the contents of a row may change without moving any.
        """
        return self.identity()

    def local_files(self) -> Sequence[str]:
        """Returns the files on this host that the rows are read from, as far as they are known."""
        return ()

    @abc.abstractmethod
    def describe(self) -> str:
        """Returns a few words for the repr: how much of what."""

    def rows_held(self, buffer_size: int) -> int:
        """Returns the rows that shuffling without a cache holds in memory at once."""
        return 0 if self.indexed else buffer_size

    def shuffled_row_bytes(self) -> int | None:
        """Returns the mean bytes of a row in the shuffle buffer, None where its spec tells."""
        return None

    def describe_shuffle(self, buffer_size: int) -> str:
        """Returns how the rows are shuffled without a cache, for the repr."""
        if self.indexed:
            return f"all {self.num_rows:,} rows by index, no buffer"
        return f"files, then a buffer of {buffer_size:,} rows"


class RandomAccessSource(Source):
    """A source that gives any row by its number."""

    @abc.abstractmethod
    def index_calls(self, order: Order) -> list[Call]:
        """Returns the calls that yield the numbers of the rows in `order`, int64 scalars."""

    @abc.abstractmethod
    def take_calls(self, order: Order) -> list[Call]:
        """Returns maps that turn a batch of row numbers into a batch of these rows."""

    @abc.abstractmethod
    def located_take_calls(self, order: Order) -> list[Call]:
        """Returns maps that turn a batch of row numbers into a batch of (where, row)."""

    @abc.abstractmethod
    def key_calls(self, order: Order) -> list[Call]:
        """Returns the calls that yield the key of each row in `order`, and read no row."""
