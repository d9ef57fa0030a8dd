"""What the rows of a store depend on, as the key of a generation."""

from __future__ import annotations

import functools
import hashlib
import logging
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.plan.identity import UnhashableError, digest
from estimator_io.sources.base import Source

__all__ = ["generation_key"]

_FORMAT = 1  # counted up whenever a row of the same key would have another meaning


def generation_key(
    source: Source, parse: Any, order: Any, *, verify_contents: bool, cache: str
) -> str | None:
    """Returns the key of the rows that `source` and `parse` make.

    Args:
      source: of the rows.
      parse: the user's function, or None.
      order: what the numbers of the rows depend on, beside the source.
      verify_contents: whether the contents of the source's files count too.
      cache: what the user calls the cache, for the warning.

    Returns:
      A digest; None, with a warning, where something cannot be compared.
    """
    # What cannot be compared is not even kept for one Dataset: a variable may be assigned between
    # two passes of it, and a method, or a function in tf.numpy_function, reads its object when a
    # row is made. A row that was kept would then come back as it was, and nobody could tell.
    try:
        contents = contents_of(source.files) if verify_contents else None
        parts = (source.identity(), source.decode, parse, order, contents)
        return digest(_FORMAT, tf.__version__, *parts)
    except UnhashableError as reason:
        _warn_uncomparable(source, cache, reason)
        return None


def contents_of(files: Sequence[str]) -> list[str]:
    """Returns a digest of the content of each file."""
    return [_content(file, _facts(file)) for file in files]


def _facts(file: str) -> tuple[int, int]:
    stat = tf.io.gfile.stat(file)
    return stat.length, stat.mtime_nsec


@functools.lru_cache(maxsize=1 << 20)
def _content(file: str, facts: tuple[int, int]) -> str:
    del facts  # a file that has changed is read again
    sha = hashlib.sha256()
    with tf.io.gfile.GFile(file, "rb") as stream:
        while part := stream.read(1 << 20):
            sha.update(part)
    return sha.hexdigest()


_LOCK = threading.Lock()
# For each source what was told of it.
_TOLD: weakref.WeakKeyDictionary[Source, set[str]] = weakref.WeakKeyDictionary()


def _warn_uncomparable(source: Source, cache: str, reason: Exception) -> None:
    with _LOCK:
        told = _TOLD.setdefault(source, set())
        if str(reason) in told:
            return
        told.add(str(reason))
    logging.getLogger("estimator_io").warning(
        "cache=%r keeps nothing: whether rows that were kept are still those that source and parse"
        " would make cannot be told, since they use what cannot be compared: %s. Training goes on,"
        " and makes every row anew in each pass. To keep rows, use plain functions of values: take"
        " numbers and texts out of objects before, and move what needs a tf.Variable or an object"
        " behind the cache, into batch_map.",
        cache,
        reason,
    )
