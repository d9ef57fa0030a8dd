"""Segments of payloads: each process appends to one of its own, so none needs a lock."""

from __future__ import annotations

import os
import threading
from collections.abc import Sequence

import numpy as np

from estimator_io.store.inside import folder_of, open_file

__all__ = ["Segments", "segment_file"]

# A place is the number of the segment and the offset in it.
_OFFSET_BITS = 44
MOST_SEGMENTS = 1 << 19
# No row is longer: what a table says beyond that was never written.
MOST_BYTES = 1 << 40


class Segments:
    """The segments in one folder.

    Args:
      folder: that they lie in.
    """

    def __init__(self, folder: str) -> None:
        self._folder = folder
        self._own: tuple[int, int, int] | None = None  # process, number, open file
        self._open: dict[int, int] = {}
        self._lock = threading.Lock()

    def __del__(self) -> None:
        for file in self._open.values():
            os.close(file)

    def append(self, records: Sequence[bytes]) -> np.ndarray:
        """Writes records and returns their places: uint64 [records, 2], place and length.

        Raises:
          OSError: they cannot be written.
        """
        number, file = self._own_segment()
        offset = os.fstat(file).st_size
        lengths = np.array([len(record) for record in records], np.uint64)
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.uint64)
        data = memoryview(b"".join(records))
        at = offset
        while len(data):
            written = os.pwrite(file, data, at)
            data, at = data[written:], at + written
        places = starts + np.uint64(number << _OFFSET_BITS | offset)
        return np.stack([places, lengths], axis=1)

    def read(self, place: int, length: int) -> bytes:
        """Returns the record of `length` bytes at `place`.

        Raises:
          OSError: there is no such segment, or it is shorter.
        """
        number, offset = place >> _OFFSET_BITS, place & ((1 << _OFFSET_BITS) - 1)
        if length > MOST_BYTES:
            raise OSError("a length that no record has")
        record = os.pread(self._file(number), length, offset)
        if len(record) != length:
            raise OSError("the segment is shorter than its record")
        return record

    def _file(self, number: int) -> int:
        file = self._open.get(number)
        if file is None:
            with self._lock:
                file = self._open.get(number)
                if file is None:
                    with folder_of(self._folder) as at:
                        file = open_file(segment_file(number), os.O_RDONLY, at=at)
                    self._open[number] = file
        return file

    def _own_segment(self) -> tuple[int, int]:
        if self._own is None or self._own[0] != os.getpid():
            number, file = self._new_segment()
            self._own = (os.getpid(), number, file)
            self._open[number] = file
        return self._own[1], self._own[2]

    def _new_segment(self) -> tuple[int, int]:
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL
        with folder_of(self._folder) as at:
            taken = [name for name in os.listdir(at) if name.startswith("segment-")]
            for number in range(len(taken), MOST_SEGMENTS):
                try:
                    return number, open_file(segment_file(number), flags, at=at)
                except FileExistsError:
                    continue
        raise OSError("the store holds too many segments")


def segment_file(number: int) -> str:
    """Returns the name of the file of a segment."""
    return f"segment-{number:06}.bin"
