"""Rows that know where they stand: (where, row), where is an int64 that tells a row from others.

In a stream of files it holds the file and the place in it. A key is the same as a text.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from estimator_io.ops.lines import MOST_FILES
from estimator_io.ops.order import permutation, shuffled

EMBEDDED_NAMES_BYTES = 256 * 1024


@tf.autograph.experimental.do_not_convert
def file_names(numbers, *, files):
    """Returns the names of the files `numbers` (int64): from the graph, or if large from memory."""
    if sum(len(file) for file in files) <= EMBEDDED_NAMES_BYTES:
        return tf.gather(tf.constant(list(files)), numbers)
    names = np.array([file.encode() for file in files], object)
    found = tf.numpy_function(lambda at: names[at], [numbers], tf.string)
    return tf.ensure_shape(found, numbers.shape)


@tf.autograph.experimental.do_not_convert
def place_key(where, row, *, files, sign):
    """Returns the key of a row in a stream of files: name, `sign`, number."""
    del row
    name = file_names(where % MOST_FILES, files=files)
    return tf.strings.join([name, sign, tf.strings.as_string(where // MOST_FILES)])


@tf.autograph.experimental.do_not_convert
def number_key(where, row):
    """Returns the number of a row as text."""
    del row
    return tf.strings.as_string(where)


@tf.autograph.experimental.do_not_convert
def path_key(where, row):
    """Returns the first part of a row, which is a path."""
    del where
    return tf.nest.flatten(row)[0]


@tf.autograph.experimental.do_not_convert
def listed_key(where, row, *, keys):
    """Returns what `keys(where)`, a Python function of an array, makes of the rows' numbers."""
    del row
    found = tf.numpy_function(keys, [where], tf.string)
    return tf.ensure_shape(found, where.shape)


def key_alone(where, row, *, key_of):
    """Returns the keys of rows, and forgets the rows."""
    return key_of(where, row)


@tf.autograph.experimental.do_not_convert
def rows_at(indices, *, take):
    """Returns (where, rows) of the rows `indices`."""
    return indices, take(indices)


def line_keys(*, files, contents, index):
    """Returns the Python function that makes path:line of the numbers of indexed lines."""
    file_of, line_of = line_places(contents, index)

    def keys(where):
        columns = (column[where].reshape(-1).tolist() for column in (file_of, line_of))
        pairs = zip(*columns, strict=True)
        texts = [f"{files[at]}:{number}".encode() for at, number in pairs]
        return np.array(texts, object).reshape(np.shape(where))

    return keys


def line_places(contents, index):
    """Returns the file and the number of the line, from 1, of every indexed row: int32, int64."""
    starts, _, first_rows = index
    files = np.searchsorted(first_rows, np.arange(len(starts)), side="right") - 1
    lines = np.zeros(len(starts), np.int64)
    for at, content in enumerate(contents):
        mine = files == at
        breaks = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
        lines[mine] = np.searchsorted(breaks, starts[mine], side="left") + 1
    return files.astype(np.int32), lines


@tf.autograph.experimental.do_not_convert
def stream_of_epoch(epoch, *, files, numbers, read, buffer_size, seed, shard=None):
    """Returns what `read(files, numbers)` yields in one epoch: files in a new order, then a buffer.

    `shard` is (count, index) where workers share out single rows: then the files keep their order,
    which is the same for all workers, whatever seed each of them has.
    """
    if shard is None:
        order = permutation(epoch, size=len(files), seed=seed)
        files, numbers = tf.gather(files, order), tf.gather(numbers, order)
    rows = read(files, numbers)
    if shard is not None:
        rows = rows.shard(*shard)
    return shuffled(rows, epoch, buffer_size=buffer_size, seed=seed)


def file_indices(files, *, first, step):
    """Returns the indices `first`, `first + step`, … of `files`: int64."""
    return np.arange(first, len(files), step, dtype=np.int64)
