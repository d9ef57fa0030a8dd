"""Python functions in this process, for programs that are printed."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from estimator_io.ops.generator import leaves_of


def python_call(function, element, *, seed, number):
    """Calls `function` as a stage of tf.data does, with a NumPy seed where it takes one."""
    keywords = {} if seed is None else {"seed": np.array([seed, number], np.int64)}
    if isinstance(element, tuple):
        return function(*element, **keywords)
    return function(element, **keywords)


@tf.autograph.experimental.do_not_convert
def python_map(
    dataset,
    *,
    function,
    structure,
    dtypes,
    shapes,
    seed=None,
    batch_size=None,
    drop_remainder=False,
    rows_of_batches=False,
):
    """Maps a function of Python and NumPy over `dataset`.

    estimator_io runs such a function in worker processes. This program calls it in its own process,
    one call at a time, since Python runs one thread at a time: the same rows, but slower.

    With `seed`, elements are (number, element), and the function gets a seed of both. Rows are
    batched where `batch_size` is given. With `rows_of_batches` elements are batches, and the
    function is called for each of their rows.
    """
    spec = dataset.element_spec

    def call(*arrays):
        number, leaves = (arrays[0], arrays[1:]) if seed is not None else (0, arrays)
        element = tf.nest.pack_sequence_as(spec[1] if seed is not None else spec, leaves)
        result = leaves_of(structure, python_call(function, element, seed=seed, number=number))
        return [
            np.asarray(leaf, object if dtype == tf.string else dtype.as_numpy_dtype)
            for leaf, dtype in zip(result, dtypes, strict=True)
        ]

    def call_for_rows(*arrays):
        rows = [call(*(array[at] for array in arrays)) for at in range(len(arrays[-1]))]
        return [np.stack(leaf) for leaf in zip(*rows, strict=True)]

    def mapped(*element):
        inputs = tf.nest.flatten(element if isinstance(spec, tuple) else element[0])
        tensors = tf.numpy_function(call_for_rows if rows_of_batches else call, inputs, dtypes)
        for tensor, shape in zip(tensors, shapes, strict=True):
            tensor.set_shape([None, *shape] if rows_of_batches else shape)
        return tf.nest.pack_sequence_as(structure, tensors)

    made = dataset.map(mapped)
    return made.batch(batch_size, drop_remainder=drop_remainder) if batch_size else made


@tf.autograph.experimental.do_not_convert
def python_row(*row, function, structure, dtypes, shapes):
    """Calls a function of Python and NumPy on one row.

    estimator_io runs such a function in worker processes, this program in its own.
    """
    element = row if len(row) != 1 else row[0]

    def call(*arrays):
        values = tf.nest.pack_sequence_as(element, arrays)
        result = leaves_of(structure, python_call(function, values, seed=None, number=0))
        return [
            np.asarray(leaf, object if dtype == tf.string else dtype.as_numpy_dtype)
            for leaf, dtype in zip(result, dtypes, strict=True)
        ]

    tensors = tf.numpy_function(call, tf.nest.flatten(element), dtypes)
    for tensor, shape in zip(tensors, shapes, strict=True):
        tensor.set_shape(shape)
    return tf.nest.pack_sequence_as(structure, tensors)
