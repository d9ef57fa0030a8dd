"""What a printed program has in the place of a store."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def without_store(dataset, *, batch_size=None, drop_remainder=False):
    """Returns `dataset` as it is, or in batches: every row is made anew in each pass.

    The pipeline that was printed keeps here what the stages so far have made, in any order, and
    hands on the same rows in the same order. tf.data has no such store: its `cache()` would replay
    the order of its first pass, and forgets what was not read to the end.
    """
    if batch_size is None:
        return dataset
    return dataset.batch(batch_size, drop_remainder=drop_remainder)
