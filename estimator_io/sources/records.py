"""TFRecord files: a stream of serialized records, shuffled by file and through a buffer."""

from __future__ import annotations

import functools
import os
import zlib
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.ops import damage, example, locate
from estimator_io.ops.indexed_records import HEAD_BYTES, record_length
from estimator_io.ops.lines import MOST_FILES
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.parallel import calls_within
from estimator_io.sources.base import Order, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.files import FileList
from estimator_io.sources.located import located_files
from estimator_io.sources.table import file_identity, relative_paths

__all__ = ["RecordSource"]

_COMPRESSIONS = ("", "GZIP", "ZLIB")


class RecordSource(Source):
    """The records of TFRecord files.

    Args:
      files: the files, as `find_files` returns them.
      compression: "", "GZIP" or "ZLIB", as they were written.
      decode: parses one record; None leaves it serialized.
      decode_batch: parses a batch of records at once.
      served: the features that a serialized Example holds when the model is served, without label
        and weight; None where they are not known.

    Raises:
      OptionError: an unknown compression.
      NoDataError: no file holds a record.
      SourceError: the first record cannot be read.
    """

    def __init__(
        self,
        files: FileList,
        *,
        compression: str,
        decode: Any,
        decode_batch: Any,
        served: Mapping[str, Any] | None = None,
    ) -> None:
        if compression not in _COMPRESSIONS:
            raise OptionError(
                f"compression is unknown. Received: {compression!r}. Expected: one of"
                f" {', '.join(map(repr, _COMPRESSIONS))}."
            )
        self._files = files
        self.files = files.value
        self.waits = any("://" in file for file in files.value)
        self._compression = compression
        self.decode = decode
        self.decode_batch = decode_batch
        self.served = served
        self._require_a_record()

    @property
    def num_rows(self) -> None:
        """None: the format does not say how many records a file holds."""

    def identity(self) -> Any:
        """Returns size and time of change of the files."""
        return (self._compression, file_identity(self._files.value))

    def order_identity(self) -> Any:
        """Returns names and sizes of the files; of remote ones the names, since asking is slow."""
        files = self._files.value
        sizes = [None if "://" in file else os.path.getsize(file) for file in files]
        return list(zip(relative_paths(files), sizes, strict=True))

    def shuffled_row_bytes(self) -> int:
        """Returns the mean bytes of the first records, which the buffer holds serialized."""
        return self._record_bytes

    def local_files(self) -> list[str]:
        """Returns the files, of those on this host."""
        return [file for file in self._files.value if "://" not in file]

    def describe(self) -> str:
        """Returns the number of files."""
        return f"records of {len(self._files.value):,} TFRecord files"

    def calls(self, order: Order) -> list[Call]:
        """Returns: files in order, their records interleaved, shuffled through a buffer."""
        files, shard = self._shard(order)
        at_once = min(order.interleave, len(files.value))
        kwargs: dict[str, Any] = {
            "files": files,
            "compression": self._compression,
            "cycle_length": at_once,
            "num_parallel_calls": calls_within(order.read_calls, at_once),
        }
        if not order.shuffle:
            rest = [] if shard is None else [Call("shard", "shard", shard)]
            return [Call("source", example.read_records, (), kwargs), *rest, *repeat_calls(order)]
        kwargs |= {"buffer_size": order.buffer_size, "seed": order.seed, "shard": shard}
        epoch = functools.partial(example.records_of_epoch, **kwargs)
        return [epoch_numbers(order), Call("shuffle", "flat_map", (epoch,))]

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns the same records in the same order, with the number of file and record."""
        return located_files(self._files, order, self._reader(note))

    @property
    def key_of(self) -> functools.partial[Any]:
        """Keys are path#record, from 0."""
        return functools.partial(locate.place_key, files=self._files, sign="#")

    def _reader(self, note: Any) -> functools.partial[Any]:
        told = {"compression": self._compression}
        if note is None:
            return functools.partial(damage.numbered_records, **told)
        return functools.partial(damage.sound_records, **told, note=note)

    def place(self, where: int) -> dict[str, Any]:
        """Returns the file and the record in it."""
        number, file = divmod(where, MOST_FILES)
        return {"file": self._files.value[file], "record": number}

    def first_damage(self) -> str | None:
        """Returns the first damaged record of all files."""
        return damage.first_damage(self._files.value, compression=self._compression)

    def _shard(self, order: Order) -> tuple[Named, tuple[int, int] | None]:
        """Shares out whole files where there are enough of them, else single records."""
        index, count = order.shard
        if count == 1:
            return self._files, None
        files = self._files.value[index::count]
        if len(self._files.value) >= count:
            return Named("files_of_this_worker", files), None
        return self._files, (count, index)

    def _require_a_record(self) -> None:
        for file in self._files.value:
            try:
                head = _first_bytes(file, self._compression)
                if head:
                    self._record_bytes = record_length(head, file=file, record=0, offset=0)
                    return
            except (tf.errors.OpError, ValueError, zlib.error) as error:
                raise SourceError(
                    f"{file!r} is no TFRecord file of compression {self._compression!r}: its first"
                    f" record cannot be read ({getattr(error, 'message', error)}). Check the path"
                    " and compression=…"
                ) from error
        raise NoDataError(
            f"None of the {len(self._files.value)} TFRecord files holds a record, the first of"
            f" them {self._files.value[0]!r}. Expected: at least one record."
        )


def _first_bytes(file: str, compression: str) -> bytes:
    """Returns as many bytes of `file`, decompressed, as a record's length takes."""
    with tf.io.gfile.GFile(file, "rb") as stream:
        if not compression:
            return stream.read(HEAD_BYTES)
        unzip = zlib.decompressobj(zlib.MAX_WBITS | (16 if compression == "GZIP" else 0))
        return unzip.decompress(stream.read(1 << 12), HEAD_BYTES)
