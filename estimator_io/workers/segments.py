"""Shared memory without a name, so that nothing is left behind whoever is killed.

A segment is a memory file (memfd_create), or where there is none an unlinked temporary file. Both
sides hold its descriptor and map it; the kernel frees it with the last of them. It does not count
against the size of /dev/shm, which containers keep small.
"""

from __future__ import annotations

import ctypes
import math
import mmap
import os
import tempfile
import weakref
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

__all__ = ["Place", "Segment", "dtype_named", "lay_out"]

# TensorFlow takes an array over without a copy where it begins at a multiple of this: the widest
# vector of the CPUs it is built for (EIGEN_MAX_ALIGN_BYTES), bytes.
ALIGNMENT = 64

# Where an array lies in a segment: offset in bytes, name of the dtype, shape.
Place = tuple[int, str, tuple[int, ...]]


class Segment:
    """Memory that two processes share, which grows where it must.

    Args:
      file: the descriptor of the memory; the segment owns it.

    Attributes:
      file: the descriptor.
      size: bytes that this process has mapped.
      number: what the processes that share it call it.
    """

    def __init__(self, file: int) -> None:
        self.file = file
        self.number = 0
        self.size = 0
        self._map: mmap.mmap | None = None

    @classmethod
    def create(cls) -> Segment:
        """Returns an empty segment."""
        if hasattr(os, "memfd_create"):
            return cls(os.memfd_create("estimator_io", os.MFD_CLOEXEC))
        with tempfile.TemporaryFile() as file:
            return cls(os.dup(file.fileno()))

    def reserve(self, size: int) -> None:
        """Makes at least `size` bytes of it accessible; arrays that were taken stay valid."""
        if size <= self.size:
            return
        there = os.fstat(self.file).st_size
        if there < size:
            there = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
            os.ftruncate(self.file, there)
        # The old map lives on as long as arrays over it do.
        self._map = mmap.mmap(self.file, there)
        self.size = there

    def array(self, place: Place) -> np.ndarray:
        """Returns the array at `place`, over the shared memory itself."""
        self.reserve(_end(place))
        return _array(self._map, place)

    def lend(
        self, places: Iterable[Place], give_back: Callable[[Segment], object]
    ) -> list[np.ndarray]:
        """Returns the arrays at `places`; `give_back(self)` is called when the last has gone."""
        places = list(places)
        for place in places:  # another process may have made it larger
            self.reserve(_end(place))
        buffer = (ctypes.c_char * self.size).from_buffer(self._map or bytearray())
        weakref.finalize(buffer, give_back, self).atexit = False
        return [_array(buffer, place) for place in places]

    def write(self, array: np.ndarray, offset: int) -> Place:
        """Copies `array` to `offset`, within what was reserved."""
        place = (offset, array.dtype.name, array.shape)
        if array.size:
            self.array(place)[...] = array
        return place

    def __del__(self, close: Callable[[int], None] = os.close) -> None:
        """Lets go of the memory; at the end of the program too, when modules have gone."""
        close(self.file)


def dtype_named(name: str) -> np.dtype:
    """Returns the dtype with this name, those of machine learning (bfloat16) included."""
    try:
        return np.dtype(name)
    except TypeError:
        import ml_dtypes  # what TensorFlow has them from

        return np.dtype(getattr(ml_dtypes, name))


def lay_out(arrays: Iterable[tuple[str, tuple[int, ...]]], offset: int) -> tuple[list[Place], int]:
    """Returns a place for each (dtype, shape), one behind the other, and where the last ends."""
    places: list[Place] = []
    for dtype, shape in arrays:
        places.append((-(-offset // ALIGNMENT) * ALIGNMENT, dtype, tuple(shape)))
        offset = _end(places[-1])
    return places, offset


def _end(place: Place) -> int:
    return place[0] + math.prod(place[2]) * dtype_named(place[1]).itemsize


def _array(buffer: Any, place: Place) -> np.ndarray:
    offset, name, shape = place
    dtype = dtype_named(name)
    if 0 in shape:
        return np.empty(shape, dtype)
    return np.frombuffer(buffer, dtype, math.prod(shape), offset).reshape(shape)
