"""How many recordings were read: the kernel counts, so no pipeline is touched to be measured.

A counter inside the maps would change what it measures: TensorFlow runs no map with a side effect
in parallel, so even a timestamp would make the script as people write it slower than it is.
"""

from __future__ import annotations

import ctypes
import os
import struct
import sys
from collections.abc import Iterable

__all__ = ["OpenCounter"]

# From <sys/inotify.h>.
IN_OPEN = 0x20
IN_Q_OVERFLOW = 0x4000
IN_ISDIR = 0x40000000
EVENT = struct.Struct("iIII")  # watch, mask, cookie, bytes of the name that follows
READ_BYTES = 1 << 18


class OpenCounter:
    """Counts how often files in some folders are opened, through Linux's inotify.

    The kernel keeps 16,384 events until `collect` is called, so call it at least once for as many
    openings. Two openings of one file with no other between them may count as one.

    Args:
      folders: the folders whose files are counted; subfolders are not.

    Example::

      with OpenCounter(["recordings/en"]) as counter:
          ...
      counter.count
    """

    def __init__(self, folders: Iterable[str]) -> None:
        self._folders = list(folders)
        self._descriptor = -1
        self._events = bytearray()

    def __enter__(self) -> OpenCounter:
        """Starts to count; where the system cannot, `count` stays None."""
        if sys.platform == "linux":
            self._watch()
        return self

    def __exit__(self, *_: object) -> None:
        """Stops."""
        self.collect()
        if self._descriptor >= 0:
            os.close(self._descriptor)
            self._descriptor = -2

    def collect(self) -> None:
        """Takes over what the kernel has noted so far; a few microseconds."""
        if self._descriptor < 0:
            return
        try:
            while chunk := os.read(self._descriptor, READ_BYTES):
                self._events += chunk
        except BlockingIOError:
            pass

    def before_step(self, step: int) -> None:
        """Does nothing: as a watcher of steps, it collects after each."""

    def after_step(self, step: int) -> None:
        """Collects."""
        self.collect()

    @property
    def count(self) -> int | None:
        """Files opened so far; None where this cannot be told."""
        if self._descriptor == -1:
            return None
        masks = list(_masks(bytes(self._events)))
        if any(mask & IN_Q_OVERFLOW for mask in masks):
            return None
        return sum(not mask & IN_ISDIR for mask in masks)

    def _watch(self) -> None:
        libc = ctypes.CDLL(None, use_errno=True)
        descriptor = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if descriptor < 0:
            return
        for folder in self._folders:
            if libc.inotify_add_watch(descriptor, os.fsencode(folder), IN_OPEN) < 0:
                os.close(descriptor)
                return
        self._descriptor = descriptor


def _masks(events: bytes) -> Iterable[int]:
    at = 0
    while at < len(events):
        _, mask, _, name_bytes = EVENT.unpack_from(events, at)
        yield mask
        at += EVENT.size + name_bytes
