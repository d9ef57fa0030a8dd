"""Rows of arrays by their indices: from constants in the graph, or from the host's memory."""

from __future__ import annotations

import numpy as np
import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def take_rows(indices, *, columns):
    """Returns the rows `indices` (int64 [rows]) of every array in `columns`, held in the graph."""
    return tf.nest.map_structure(lambda column: tf.gather(column, indices), columns)


@tf.autograph.experimental.do_not_convert
def take_rows_from_host(indices, *, columns):
    """Returns the rows `indices` of every array in `columns`, by one call into NumPy.

    The arrays stay outside the graph, which therefore has no 2 GB limit and does not carry them
    into every checkpoint.
    """
    flat = tf.nest.flatten(columns)

    def take(rows):
        # np.take would copy all of an array whose rows do not stand side by side.
        return [
            np.take(column, rows, axis=0) if column.flags.c_contiguous else column[rows]
            for column in flat
        ]

    dtypes = [tf.string if c.dtype.kind in "OSU" else tf.as_dtype(c.dtype) for c in flat]
    tensors = tf.numpy_function(take, [indices], dtypes)
    for tensor, column in zip(tensors, flat, strict=True):
        tensor.set_shape([indices.shape[0], *column.shape[1:]])
    return tf.nest.pack_sequence_as(columns, tensors)


@tf.autograph.experimental.do_not_convert
def alone(*row, function):
    """Returns what `function`, which takes blocks of rows, makes of a single row."""
    made = function(*tf.nest.map_structure(lambda part: part[tf.newaxis], row))
    return tf.nest.map_structure(lambda part: part[0], made)
