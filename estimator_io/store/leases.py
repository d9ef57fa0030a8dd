"""Leases: notes of the processes that have a generation open, so that nobody removes it.

A lease is a file, not a lock: it names the host, the boot, the process and its start. On its own
host it counts as long as that process runs, whatever killed it; on another host as long as the file
was touched within `REMOTE_SECONDS`.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import socket
import time
import uuid
import weakref
from typing import Any

from estimator_io.errors import StoreError
from estimator_io.store.inside import folder_of, open_file

__all__ = ["REMOTE_SECONDS", "Lease", "live_leases"]

TOUCH_SECONDS = 60.0
REMOTE_SECONDS = 24 * 3600.0
FOLDER = "leases"


class Lease:
    """The note of this process in one generation, withdrawn when the object or process goes.

    Args:
      generation: the folder.

    Raises:
      OSError: it cannot be written.
      StoreError: a link stands where a folder should.
    """

    def __init__(self, generation: str) -> None:
        with folder_of(generation) as at, contextlib.suppress(FileExistsError):
            os.mkdir(FOLDER, dir_fd=at)
        self._generation = generation
        self._name = f"{uuid.uuid4().hex}.json"
        self._pid = os.getpid()
        self._touched = time.monotonic()
        note = {"host": _host(), "boot": _boot(), "pid": self._pid, "start": _start(self._pid)}
        with folder_of(generation, FOLDER) as at:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
            with open(open_file(self._name, flags, at=at), "w") as file:
                json.dump(note, file)
        self.withdraw = weakref.finalize(self, _withdraw, generation, self._name, self._pid)

    def touch(self) -> None:
        """Says that the generation is in use, at most once a minute."""
        now = time.monotonic()
        if now - self._touched > TOUCH_SECONDS:
            self._touched = now
            with contextlib.suppress(OSError, StoreError):
                with folder_of(self._generation, FOLDER) as at:
                    os.utime(self._name, dir_fd=at, follow_symlinks=False)
                with folder_of(self._generation) as at:
                    os.utime(at)


def live_leases(generation: str, *, tidy: bool = False) -> int:
    """Returns how many processes have a generation open.

    Args:
      generation: the folder.
      tidy: whether the notes of processes that are gone are removed.

    Raises:
      StoreError: a link stands where a folder should.
    """
    alive = 0
    with contextlib.suppress(OSError), folder_of(generation, FOLDER) as at:
        for name in os.listdir(at):
            if _is_alive(name, at):
                alive += 1
            elif tidy:
                with contextlib.suppress(OSError):
                    os.unlink(name, dir_fd=at)
    return alive


def _withdraw(generation: str, name: str, pid: int) -> None:
    if pid == os.getpid():  # a child of a fork leaves it to its parent
        with contextlib.suppress(OSError, StoreError), folder_of(generation, FOLDER) as at:
            os.unlink(name, dir_fd=at)


def _is_alive(name: str, at: int) -> bool:
    try:
        with open(open_file(name, os.O_RDONLY, at=at)) as file:
            note = json.load(file)
            age = time.time() - os.fstat(file.fileno()).st_mtime
    except FileNotFoundError:
        return False
    except (OSError, ValueError):
        # It is being written, or its writer was killed while it was.
        return _age(name, at) < TOUCH_SECONDS
    if not isinstance(note, dict) or note.get("host") != _host():
        return age < REMOTE_SECONDS
    if note.get("boot") != _boot():
        return False
    return _runs(note.get("pid"), note.get("start"))


def _age(name: str, at: int) -> float:
    try:
        return time.time() - os.lstat(name, dir_fd=at).st_mtime
    except OSError:
        return float("inf")


def _runs(pid: Any, start: Any) -> bool:
    if type(pid) is not int or pid <= 0:
        return False
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass  # another user's
    return start is None or _start(pid) in (None, start)


def _start(pid: int) -> str | None:
    """Returns when a process started, since numbers of processes come again."""
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[19]
    except (OSError, IndexError):
        return None


@functools.cache
def _host() -> str:
    """Returns what a process number counts in: the host, or the container on it."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


@functools.cache
def _boot() -> str:
    try:
        with open("/proc/sys/kernel/random/boot_id") as file:
            return file.read().strip()
    except OSError:
        return ""
