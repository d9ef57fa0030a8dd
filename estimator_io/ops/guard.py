"""Naming the row at which a pipeline fails, without touching it as long as it does not."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.ops.attempt import blank


@tf.autograph.experimental.do_not_convert
def guarded(dataset, *, explain):
    """Returns `dataset`; where it fails, `explain()` is called, which may raise a better error.

    Batches are numbered. A number that is missing is a batch that failed: if `explain` returns, the
    batch is made again, so that its own error is raised.
    """
    try:
        spec = dataset.element_spec
        end = tf.data.Dataset.range(1).map(lambda _: (True, blank(spec)))
    except TypeError:
        return dataset  # elements for whose absence nothing can stand
    goes_on = tf.data.Dataset.from_tensors(False).repeat()
    flagged = tf.data.Dataset.zip((goes_on, dataset)).concatenate(end)

    def fail(at):
        asked = tf.numpy_function(_calling(explain), [], tf.bool)
        with tf.control_dependencies([asked]):
            again = dataset.skip(at).take(1).get_single_element()
        with tf.control_dependencies(list(tf.nest.flatten(again, True))):
            check = tf.debugging.Assert(False, ["batch", at, "failed once, but not again"])
        with tf.control_dependencies([check] if check is not None else []):
            return tf.constant(False)

    def next_one(expected, numbered):
        number, (ended, element) = numbered
        good = tf.equal(number, expected)
        checked = tf.cond(good, lambda: tf.constant(True), lambda: fail(expected))
        with tf.control_dependencies([checked]):
            return number + 1, (tf.identity(ended), element)

    numbered = tf.data.Dataset.range(1 << 62)
    numbered = tf.data.Dataset.zip((numbered, flagged)).ignore_errors(log_warning=True)
    batches: Any = numbered.scan(tf.constant(0, tf.int64), next_one)
    left = batches.filter(lambda ended, element: tf.logical_not(ended))
    return left.map(lambda ended, element: element)


def _calling(explain):
    def call():
        explain()
        return np.True_

    return call
