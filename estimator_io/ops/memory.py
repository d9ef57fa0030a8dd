"""A watch over the memory that a cache takes."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def tensor_bytes(tensor, *, overhead):
    """Returns about the bytes that one cached tensor takes, int64 scalar."""
    if tensor.dtype == tf.string:
        content = tf.reduce_sum(tf.cast(tf.strings.length(tensor), tf.int64))
        return content + tf.size(tensor, tf.int64) * 24 + overhead
    if tensor.dtype in (tf.variant, tf.resource):
        return tf.constant(overhead, tf.int64)
    return tf.size(tensor, tf.int64) * tensor.dtype.size + overhead


@tf.autograph.experimental.do_not_convert
def held_within(dataset, *, limit, overhead, message):
    """Returns `dataset`, which fails once its elements took more than `limit` bytes in all.

    Raises (while it is read):
      tf.errors.InvalidArgumentError: with `message`, and the rows and bytes so far.
    """

    def count(held, element):
        tensors = tf.nest.flatten(element, expand_composites=True)
        rows, taken = held
        taken += tf.add_n([tensor_bytes(tensor, overhead=overhead) for tensor in tensors])
        check = tf.debugging.Assert(taken <= limit, [message, "rows:", rows, "bytes:", taken])
        with tf.control_dependencies([check]):
            return (rows + 1, tf.identity(taken)), element

    start = (tf.constant(0, tf.int64), tf.constant(0, tf.int64))
    return dataset.scan(start, count)
