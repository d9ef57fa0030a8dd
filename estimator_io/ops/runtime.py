"""How a pipeline runs: its threads, and whether it may reorder rows for speed."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def with_pool(dataset, *, threads, deterministic):
    """Returns `dataset`, run by `threads` threads of its own."""
    options = tf.data.Options()
    options.deterministic = deterministic
    options.threading.private_threadpool_size = threads
    return dataset.with_options(options)
