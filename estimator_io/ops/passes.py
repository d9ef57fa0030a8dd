"""Passes over a Dataset without end, none of which may be empty."""

from __future__ import annotations

import itertools

import numpy as np
import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def endless_passes(dataset, *, one_pass, first, name):
    """Returns one_pass(dataset, first), one_pass(dataset, first + 1), … for ever.

    tf.data's repeat() ends where a pass yields no row, while a flat_map over the numbers of the
    passes would ask the next one, and the next, without end. Python is called once a pass.

    Args:
      dataset: what is read again and again.
      one_pass: returns a Dataset of (dataset, number of the pass, int64).
      first: the number of the first pass.
      name: what makes the rows, for the message.
    """
    readers = itertools.count()
    begun = {}

    def begin(reader):
        number = begun[int(reader)] = begun.get(int(reader), -1) + 1
        return np.int64(number)

    def run_dry(reader):
        raise ValueError(
            f"{name} yields no row in pass {begun[int(reader)] + 1} (from 1), and endless training"
            " would ask for ever. Expected: at least one row each time it is read. Give epochs= a"
            " number if it may run dry."
        )

    def called(function, *inputs):
        return tf.ensure_shape(tf.numpy_function(function, list(inputs), tf.int64), [])

    def pass_of(number):
        return one_pass(dataset, tf.cast(first, tf.int64) + number)

    def read(reader):
        one = tf.data.Dataset.range(1)
        passes = one.map(lambda _: called(begin, reader)).flat_map(pass_of).repeat()
        dry = one.map(lambda _: called(run_dry, reader)).flat_map(lambda at: pass_of(at).take(0))
        return passes.concatenate(dry)

    new = tf.data.Dataset.range(1).map(lambda _: called(lambda: np.int64(next(readers))))
    return new.flat_map(read)
