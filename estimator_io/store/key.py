"""What the rows of a store depend on, as the key of a generation."""

from __future__ import annotations

import functools
import hashlib
import logging
import os
import threading
import uuid
import weakref
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.plan.identity import UnhashableError, digest
from estimator_io.sources.base import Source

__all__ = ["PRIVATE", "generation_key"]

_FORMAT = 1  # counted up whenever a row of the same key would have another meaning
PRIVATE = "private-"


def generation_key(
    source: Source, parse: Any, order: Any, *, verify_contents: bool, cache: str
) -> str:
    """Returns the key of the rows that `source` and `parse` make.

    Args:
      source: of the rows.
      parse: the user's function, or None.
      order: what the numbers of the rows depend on, beside the source.
      verify_contents: whether the contents of the source's files count too.
      cache: what the user calls the cache, for the warning.

    Returns:
      A digest, or where something cannot be compared a key that only this process knows.
    """
    try:
        contents = contents_of(source.files) if verify_contents else None
        parts = (source.identity(), source.decode, parse, order, contents)
        return digest(_FORMAT, tf.__version__, *parts)
    except UnhashableError as reason:
        return _private_key(source, parse, order, cache, reason)


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
# For each source the private keys by parse function, which is kept so that its id stays its own.
_PRIVATE_KEYS: weakref.WeakKeyDictionary[Source, dict[Any, tuple[str, Any]]] = (
    weakref.WeakKeyDictionary()
)


def _private_key(source: Source, parse: Any, order: Any, cache: str, reason: Exception) -> str:
    with _LOCK:
        keys = _PRIVATE_KEYS.setdefault(source, {})
        name = (os.getpid(), id(parse), repr(order))
        if name not in keys:
            keys[name] = (f"{PRIVATE}{uuid.uuid4().hex}", parse)
            logging.getLogger("estimator_io").warning(
                "cache=%r: rows are kept for this process alone, since what made them cannot be"
                " compared with later runs: %s. To share the cache, use plain functions of values.",
                cache,
                reason,
            )
        return keys[name][0]
