"""Where the cache stage keeps its rows: tf.data's own cache, in memory or in a folder.

In a folder each content has generations of its own, named by `identity.digest`, so that a changed
source file or parse function never meets old rows. A generation has one writer: tf.data locks its
files only at the first row, too late for two Datasets that were built before either was read. The
first generation to be complete serves every later build.
"""

from __future__ import annotations

import atexit
import functools
import json
import logging
import os
import socket
import uuid
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Deferred
from estimator_io.plan.identity import UnhashableError, digest

__all__ = ["cache_path"]

_FORMAT = 2  # counted up whenever the meaning of a cached row changes
_ROWS = "rows"
_NOTE = "owner.json"
_PRIVATE = "private-"


def cache_path(
    source: Any, options: Options, order: Callable[[], Mapping[str, Any]]
) -> str | Deferred:
    """Returns the path prefix of tf.data's cache files, "" for a cache in memory.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      order: returns what the order of the cached rows depends on: shuffle, shard, interleave.

    Returns:
      For a folder a value that is made when the plan is built, so that planning leaves the disk
      alone. Making it raises OptionError where the folder cannot be made or written.
    """
    if options.cache is None or options.cache == "memory":
        return ""
    folder = options.cache
    return Deferred(
        make=lambda: _prefix(folder, _key(source, options, order())),
        printed=tf.io.gfile.join(folder, _ROWS),
        unread="",  # what is built for its spec alone may as well be cached in memory
    )


def _prefix(folder: str, key: str) -> str:
    """Returns the prefix of a complete generation, or of a new one that is this caller's alone."""
    found = _generations(folder)
    for generation in found:
        if os.path.basename(generation).startswith(f"{key}-") and _complete(generation):
            return tf.io.gfile.join(generation, _ROWS)
    for generation in found:
        _remove_if_abandoned(generation)
    return tf.io.gfile.join(_claim(folder, key), _ROWS)


def _key(source: Any, options: Options, order: Mapping[str, Any]) -> str:
    functions = (source.decode, options.parse, options.filter, options.flat_map)
    rows = (options.key, options.on_error)
    try:
        return digest(_FORMAT, tf.__version__, source.identity(), functions, order, rows)
    except UnhashableError as reason:
        logging.getLogger("estimator_io").warning(
            "cache=%r: rows are kept for this call alone, since what made them cannot be compared"
            " with later runs: %s. To share the cache, use plain functions of values.",
            options.cache,
            reason,
        )
        return f"{_PRIVATE}{uuid.uuid4().hex}"


def _generations(folder: str) -> list[str]:
    try:
        names = sorted(name.rstrip("/") for name in tf.io.gfile.listdir(folder))
    except tf.errors.OpError:
        return []  # there is no such folder yet
    return [tf.io.gfile.join(folder, name) for name in names]


def _complete(generation: str) -> bool:
    """Whether every row was written: tf.data drops its lock after it has written the index."""
    rows = tf.io.gfile.join(generation, _ROWS)
    return tf.io.gfile.exists(rows + ".index") and not tf.io.gfile.exists(rows + "_0.lockfile")


def _claim(folder: str, key: str) -> str:
    # Names are drawn, not counted: a counted one comes back once its folder is removed, and whoever
    # was about to remove the abandoned folder of that name would then remove a live one.
    generation = tf.io.gfile.join(folder, f"{key}-{uuid.uuid4().hex[:16]}")
    note = {"host": _host(), "pid": os.getpid()}
    try:
        tf.io.gfile.makedirs(generation)
        with tf.io.gfile.GFile(tf.io.gfile.join(generation, _NOTE), "w") as file:
            file.write(json.dumps(note))
    except tf.errors.OpError as error:
        raise OptionError(
            f"cache={folder!r} is no folder that can be written ({error.message}). Expected:"
            " 'memory' or a folder that this program may write to."
        ) from error
    _remove_at_exit(generation)
    return generation


def _remove_if_abandoned(generation: str) -> None:
    """Removes a generation that its writer can neither complete nor read any more."""
    if not _private(generation) and _complete(generation):
        return
    owner = _owner(generation)
    if owner is not None and owner.get("host") == _host() and not _alive(owner.get("pid")):
        _remove(generation)


def _owner(generation: str) -> dict[str, Any] | None:
    """Returns the note of a generation; None for a folder that shows no readable one."""
    try:
        with tf.io.gfile.GFile(tf.io.gfile.join(generation, _NOTE)) as file:
            note = json.loads(file.read())
    except (tf.errors.OpError, ValueError):
        return None
    return note if isinstance(note, dict) else None


def _alive(pid: Any) -> bool:
    if type(pid) is not int or pid <= 0:
        return True  # a note of another kind; whether its writer lives cannot be told
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True  # another user's process
    return True


@functools.cache
def _host() -> str:
    """Returns what a process number counts in: the host, or the container on it."""
    try:
        return f"{socket.gethostname()} {os.readlink('/proc/self/ns/pid')}"
    except OSError:
        return socket.gethostname()


def _private(generation: str) -> bool:
    return os.path.basename(generation).startswith(_PRIVATE)


def _remove(generation: str) -> None:
    try:
        tf.io.gfile.rmtree(generation)
    except tf.errors.OpError as error:
        # Another process may remove it too; what stays is a matter of space, not of values.
        logging.getLogger("estimator_io").debug("removing %s failed: %s", generation, error)


def _remove_at_exit(generation: str) -> None:
    if not _OWN:
        atexit.register(_clean_up)
    _OWN.append((os.getpid(), generation))


_OWN: list[tuple[int, str]] = []  # process number and path; a fork inherits those of its parent


def _own_unfinished() -> Iterator[str]:
    for pid, generation in _OWN:
        if pid == os.getpid() and (_private(generation) or not _complete(generation)):
            yield generation


def _clean_up() -> None:
    for generation in _own_unfinished():
        _remove(generation)
    _OWN.clear()
