"""How a pipeline runs: its threads, and whether it may reorder rows for speed."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def with_pool(dataset, *, threads, deterministic, ram_budget=None):
    """Returns `dataset`, run by `threads` threads of its own.

    `ram_budget` is the bytes that AUTOTUNE may spend on batches and rows that wait; None leaves it
    to TensorFlow.
    """
    options = tf.data.Options()
    if ram_budget is not None and hasattr(options.autotune, "ram_budget"):
        options.autotune.ram_budget = ram_budget
    options.deterministic = deterministic
    options.threading.private_threadpool_size = threads
    return dataset.with_options(options)
