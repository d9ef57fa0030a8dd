"""Folders and files inside a store, to which no link leads: a store may be a stranger's.

Each folder on the way is opened without following links, and what lies in it is reached from there,
so nothing that another process puts in its place meanwhile leads elsewhere. The store's own folder
is the user's choice, and may be a link. Needs no TensorFlow.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator

from estimator_io.errors import StoreError

__all__ = ["GENERATIONS", "folder_of", "open_file", "opened", "remove_tree"]

GENERATIONS = "generations"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def opened(folder: str, *names: str) -> Iterator[int]:
    """Yields the descriptor of the folder in a store that `names` lead to.

    Args:
      folder: that may be reached by links.
      *names: of the folders on the way from there, which may not.

    Raises:
      OSError: one of them is not there, or cannot be read.
      StoreError: one of them is a link.
    """
    at = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    path = folder
    try:
        for name in names:
            path = os.path.join(path, name)
            inner = _inner(name, at, path)
            os.close(at)
            at = inner
        yield at
    finally:
        os.close(at)


@contextlib.contextmanager
def folder_of(generation: str, *names: str) -> Iterator[int]:
    """Yields the descriptor of the folder of a generation, or of one in it, as `opened`.

    Raises:
      OSError: it is not there, or cannot be read.
      StoreError: it, `generations` above it or one of `names` is a link.
    """
    above, key = os.path.split(os.path.abspath(generation))
    store, generations = os.path.split(above)
    with opened(store, generations, key, *names) as at:
        yield at


def open_file(name: str, flags: int, *, at: int) -> int:
    """Returns the descriptor of a file in the folder `at`, opened without following a link.

    Raises:
      OSError: it is not there, or no plain file, a link among others.
    """
    # A pipe would block whoever opens it.
    file = os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK, 0o666, dir_fd=at)
    if not stat.S_ISREG(os.fstat(file).st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is no plain file", name)
    return file


def remove_tree(name: str, *, at: int) -> None:
    """Removes a folder in the folder `at` as far as it can be; links in it go, not what they name.

    Raises:
      OSError: something could not be removed.
    """
    folder = os.open(name, _FOLDER, dir_fd=at)
    try:
        for entry in os.listdir(folder):
            if stat.S_ISDIR(os.lstat(entry, dir_fd=folder).st_mode):
                remove_tree(entry, at=folder)
            else:
                os.unlink(entry, dir_fd=folder)
    finally:
        os.close(folder)
    os.rmdir(name, dir_fd=at)


def _inner(name: str, at: int, path: str) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=at)
    except OSError as error:
        # Linux says that a link is no folder, others that it is one link too many.
        with contextlib.suppress(OSError):
            if stat.S_ISLNK(os.lstat(name, dir_fd=at).st_mode):
                raise StoreError(
                    f"{path!r} is a link, which a store never makes: it could lead out of the"
                    " store. Nothing was read, written or removed through it. Remove the link, or"
                    " give another folder."
                ) from error
        raise
