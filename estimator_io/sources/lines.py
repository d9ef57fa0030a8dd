"""Lines of text files: by index, or as a stream where indexing would cost too much."""

from __future__ import annotations

import bisect
import dataclasses
import functools
from collections.abc import Sequence
from typing import Any

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.ops import lines as line_ops
from estimator_io.ops import locate
from estimator_io.ops.csv import line_number
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.parallel import calls_within, parallel
from estimator_io.sources.base import Order, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.files import FileList
from estimator_io.sources.head import Layout, head_lines
from estimator_io.sources.table import TableSource, file_identity

__all__ = ["LineStream", "LineTable", "line_source"]

# Each file that is read by index holds a file descriptor, of which a process has few.
INDEXED_FILES = 200
# Lines that are parsed at once: many enough for the cost of each of the some fifty operations to
# vanish, as far as they stay within a cache. What a stream's lines measure is not known.
PARSED_ROWS = 1024
PARSED_BYTES = 1 << 20
STREAM_ROW_BYTES = 1 << 10
MEASURED_LINES = 8
LINE_PLACE_BYTES = 400  # the tensors that say which file and which line of it


def line_source(
    files: FileList,
    layout: Layout,
    decode: functools.partial[Any],
    *,
    stream: bool | None,
    split: Any = None,
) -> Source:
    """Returns a source of what `decode` makes of the lines of `files`.

    Args:
      files: the files.
      layout: which of their lines are rows.
      decode: makes a batch of rows of (lines, files, places); it also gets `contents`, the bytes
        of the files, where places are bytes, if it has such a parameter.
      stream: whether the lines are read as a stream; None indexes them where every file lies on
        this machine, uncompressed, and there are few.
      split: ("train", fraction) or ("validation", fraction) of indexed rows.

    Raises:
      NoDataError: no file holds a row, or the split leaves none.
      OptionError: stream is no truth value.
    """
    if stream not in (None, True, False):
        raise OptionError(f"stream must be True, False or None. Received: {stream!r}.")
    if stream is None:
        stream = streams_by_default(files.value, layout)
    return LineStream(files, layout, decode) if stream else LineTable(files, layout, decode, split)


def streams_by_default(files: list[str], layout: Layout) -> bool:
    """Whether files are read as a stream where the user does not say."""
    remote = any("://" in file for file in files)
    return bool(layout.compression) or remote or len(files) > INDEXED_FILES


class LineTable(TableSource):
    """Lines by index: any row of any file at once, uniformly shuffled, and counted.

    One pass over the files finds where the lines begin, which takes 12 bytes of memory a row.
    Compressed and remote files are held in memory whole.

    Args:
      files: the files.
      layout: which of their lines are rows.
      decode: makes a batch of rows of (lines, files, places).
      split: the part of the rows to use.
    """

    holds_arrays = False

    def __init__(
        self, files: FileList, layout: Layout, decode: functools.partial[Any], split: Any = None
    ) -> None:
        compression = {"compression": layout.compression}
        try:
            opened = line_ops.open_contents(files.value, **compression)
        except ValueError as error:
            raise SourceError(str(error)) from error
        contents = Named(
            "contents",
            opened,
            functools.partial(line_ops.open_contents, files, **compression),
        )
        facts = dataclasses.asdict(layout)
        del facts["compression"]
        index = Named(
            "index",
            line_ops.index_lines(contents.value, **facts),
            functools.partial(line_ops.index_lines, contents, **facts),
        )
        if not len(index.value[0]):
            raise _no_rows(files)
        super().__init__(index.value[0], named=index, files=files.value, split=split)
        self._layout = layout
        self._lengths = index.value[1]
        self._take_lines = functools.partial(line_ops.take_lines, contents=contents, index=index)
        if "names" in decode.keywords:
            decode = functools.partial(decode, contents=contents)
        self._decode_lines = decode
        self._contents, self._index = contents, index
        self.decode_located = decode

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns blocks of (row, (line, file, place)), not parsed yet."""
        del note
        mean_bytes = self.row_bytes + int(self._lengths.mean())
        return [
            *self.index_calls(order),
            Call("read", "batch", (blocks(None, mean_bytes)[0],)),
            *self.located_take_calls(order),
        ]

    def located_take_calls(self, order: Order) -> list[Call]:
        """Returns: the rows that the split keeps, and (row, (line, file, place)) of these rows."""
        take = functools.partial(locate.rows_at, take=self._take_lines)
        return [
            *([] if self._rows is None else [self._take(self._rows, order)]),
            Call("read", "map", (take,), parallel(order.read_calls)),
        ]

    def key_calls(self, order: Order) -> list[Call]:
        """Returns the calls that yield the key of each row."""
        return self.keys_by_number(order)

    @property
    def key_of(self) -> functools.partial[Any]:
        """Keys are path:line, from 1."""
        told = {"files": self.files, "contents": self._contents, "index": self._index}
        values = {n: v.value if isinstance(v, Named) else v for n, v in told.items()}
        keys = Named(
            "keys", locate.line_keys(**values), functools.partial(locate.line_keys, **told)
        )
        return functools.partial(locate.listed_key, keys=keys)

    def place(self, where: int) -> dict[str, Any]:
        """Returns the file, the line from 1, and the byte where it begins."""
        starts, _, first_rows = self._index.value
        file = bisect.bisect_right(first_rows.tolist(), where) - 1
        offset = int(starts[where])
        line = line_number(offset, self._contents.value[file])
        return {"file": self.files[file], "line": line, "offset": offset}

    def identity(self) -> Any:
        """Returns the layout, and size and time of change of the files."""
        kept = None if self._rows is None else self._rows.value
        return (_key(self._layout, self.files, self._decode_lines), kept)

    def describe(self) -> str:
        """Returns the number of rows and files."""
        return f"{self.num_rows:,} lines of {len(self.files):,} text files, indexed"

    def calls(self, order: Order) -> list[Call]:
        """Returns: indices in order, in blocks, and the parsed lines at these indices."""
        mean_bytes = self.row_bytes + int(self._lengths.mean())
        parsed, split = blocks(order.block, mean_bytes)
        return [
            *self.index_calls(order),
            Call("read", "batch", (parsed,)),
            *self.take_calls(order),
            *split,
        ]

    def take_calls(self, order: Order) -> list[Call]:
        """Returns: the rows that the split keeps, and the parsed lines of these rows."""
        both = {"take": self._take_lines, "parse": self._decode_lines}
        parsed = functools.partial(line_ops.lines_at, **both)
        return [
            *([] if self._rows is None else [self._take(self._rows, order)]),
            Call("parse", "map", (parsed,), parallel(order.read_calls)),
        ]


class LineStream(Source):
    """Lines as they come: files in a new order in each epoch, lines through a buffer.

    Args:
      files: the files.
      layout: which of their lines are rows.
      decode: makes a batch of rows of (lines, files, places).
    """

    takes_blocks = True

    def __init__(self, files: FileList, layout: Layout, decode: functools.partial[Any]) -> None:
        self._files = files
        self.files = files.value
        self.waits = any("://" in file for file in files.value)
        self._layout = layout
        self._decode_lines = decode
        self.decode_located = decode
        heads = (
            head_lines(file, layout, rows=MEASURED_LINES + layout.header)[layout.header :]
            for file in files.value
        )
        first = next((lines for lines in heads if lines), None)
        if first is None:
            raise _no_rows(files)
        self._line_bytes = -(-sum(map(len, first)) // len(first))

    @property
    def num_rows(self) -> None:
        """None: only reading all files would tell."""

    def shuffled_row_bytes(self) -> int:
        """Returns the mean bytes of the first lines, which the buffer holds with their places."""
        return self._line_bytes + LINE_PLACE_BYTES

    def identity(self) -> Any:
        """Returns the layout, and size and time of change of the files."""
        return _key(self._layout, self._files.value, self._decode_lines)

    def describe(self) -> str:
        """Returns the number of files."""
        return f"lines of {len(self._files.value):,} text files, a stream"

    def calls(self, order: Order) -> list[Call]:
        """Returns: files in order, their lines interleaved, shuffled through a buffer, parsed."""
        parse = functools.partial(line_ops.parse_stream, parse=self._decode_lines)
        parsed, split = blocks(order.block, STREAM_ROW_BYTES)
        return [
            *self._line_calls(order),
            Call("read", "batch", (parsed,)),
            Call("parse", "map", (parse,), parallel(order.read_calls)),
            *split,
        ]

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns blocks of (where, (line, file, place)), not parsed yet."""
        del note
        return [
            *self._line_calls(order),
            Call("read", "batch", (blocks(None, STREAM_ROW_BYTES)[0],)),
            Call("read", "map", (line_ops.locate_stream,), parallel(order.read_calls)),
        ]

    @property
    def key_of(self) -> functools.partial[Any]:
        """Keys are path:line, from 1."""
        return functools.partial(locate.place_key, files=self._files, sign=":")

    def place(self, where: int) -> dict[str, Any]:
        """Returns the file and the line, from 1."""
        line, file = divmod(where, line_ops.MOST_FILES)
        return {"file": self._files.value[file], "line": line}

    def _line_calls(self, order: Order) -> list[Call]:
        files, numbers, shard = self._shard(order)
        facts = dataclasses.asdict(self._layout)
        del facts["quoted"], facts["delimiter"]
        at_once = min(order.interleave, len(files.value))
        kwargs: dict[str, Any] = {
            "files": files,
            "numbers": numbers,
            **facts,
            "cycle_length": at_once,
            "num_parallel_calls": calls_within(order.read_calls, at_once),
        }
        if order.shuffle:
            kwargs |= {"buffer_size": order.buffer_size, "seed": order.seed, "shard": shard}
            epoch = functools.partial(line_ops.lines_of_epoch, **kwargs)
            calls = [epoch_numbers(order), Call("shuffle", "flat_map", (epoch,))]
        else:
            rest = [] if shard is None else [Call("shard", "shard", shard)]
            calls = [Call("source", line_ops.read_lines, (), kwargs), *rest, *repeat_calls(order)]
        return calls

    def _shard(self, order: Order) -> tuple[Named, Named, tuple[int, int] | None]:
        """Shares out whole files where there are enough of them, else single lines."""
        index, count = order.shard
        if len(self._files.value) < count:
            return self._files, self._numbers(0, 1), (count, index)
        if count == 1:
            return self._files, self._numbers(0, 1), None
        files = Named("files_of_this_worker", self._files.value[index::count])
        return files, self._numbers(index, count), None

    def _numbers(self, first: int, step: int) -> Named:
        """Returns the indices, among all files, of those that one worker reads."""
        where = {"first": first, "step": step}
        value = line_ops.file_numbers(self._files.value, **where)
        recipe = functools.partial(line_ops.file_numbers, self._files, **where)
        return Named("numbers", value, recipe)


def blocks(batch_size: int | None, row_bytes: int) -> tuple[int, list[Call]]:
    """Returns (rows to parse at once, the call that makes batches of them, if any is needed)."""
    rows = max(1, min(PARSED_ROWS, PARSED_BYTES // max(1, row_bytes)))
    if batch_size is None:
        return rows, []
    if batch_size >= rows:
        return batch_size, []
    return rows // batch_size * batch_size, [Call("read", "rebatch", (batch_size,))]


def _key(layout: Layout, files: Sequence[str], decode: functools.partial[Any]) -> Any:
    """Returns what parsed lines depend on: the files as they are, and all that parsing is told."""
    told = {name: value for name, value in decode.keywords.items() if name != "contents"}
    plain = {n: v.value if isinstance(v, Named) else v for n, v in told.items()}
    return (dataclasses.astuple(layout), file_identity(files), plain)


def _no_rows(files: FileList) -> NoDataError:
    return NoDataError(
        f"None of the {len(files.value):,} files holds a row, the first of them"
        f" {files.value[0]!r}. Expected: at least one line beside headers, remarks and blank lines."
    )
