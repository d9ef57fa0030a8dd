"""Where the cache stage keeps its rows: tf.data's own cache, in memory or in a folder.

In a folder each content has a subfolder of its own, named by `identity.digest`, so that a changed
source file or parse function never meets old rows, and training, evaluation and other programs can
share the folder. A writer that was killed leaves a lock behind, and one that still runs holds one:
in both cases the next pipeline fills another subfolder, so neither stops it.
"""

from __future__ import annotations

import itertools
import logging
import os
import uuid
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.pipeline.identity import UnhashableError, digest
from estimator_io.pipeline.options import Options

__all__ = ["cache_prefix"]

_FORMAT = 1  # counted up whenever the meaning of a cached row changes


def cache_prefix(source: Any, options: Options, order: Mapping[str, Any]) -> str:
    """Returns the path prefix of tf.data's cache files, "" for a cache in memory.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      order: what the order of the cached rows depends on: shuffle, shard, interleave.

    Raises:
      OptionError: the folder cannot be made or written.
    """
    if options.cache is None or options.cache == "memory":
        return ""
    folder = tf.io.gfile.join(options.cache, _key(source, options, order))
    for generation in itertools.count():
        prefix = tf.io.gfile.join(f"{folder}-{generation}", "rows")
        locked = tf.io.gfile.exists(prefix + "_0.lockfile")
        if tf.io.gfile.exists(prefix + ".index") or not locked:
            _make_folder(os.path.dirname(prefix), options.cache)
            return prefix
    raise AssertionError("itertools.count ended")


def _key(source: Any, options: Options, order: Mapping[str, Any]) -> str:
    functions = (source.decode, options.parse, options.filter, options.flat_map)
    try:
        return digest(_FORMAT, tf.__version__, source.identity(), functions, order)
    except UnhashableError as reason:
        logging.getLogger("estimator_io").warning(
            "cache=%r: rows are kept for this call alone, since what made them cannot be compared"
            " with later runs: %s. To share the cache, use plain functions of values.",
            options.cache,
            reason,
        )
        return f"private-{uuid.uuid4().hex}"


def _make_folder(folder: str, given: str) -> None:
    try:
        tf.io.gfile.makedirs(folder)
    except tf.errors.OpError as error:
        raise OptionError(
            f"cache={given!r} is no folder that can be written ({error.message}). Expected:"
            " 'memory' or a folder that this program may write to."
        ) from error
