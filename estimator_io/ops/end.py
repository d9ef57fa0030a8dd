"""Noticing the end of a Dataset without touching what it yields."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def with_end(dataset, *, note, run):
    """Returns `dataset`; when it is exhausted, `note(run, count)` is called with its length.

    Python is called once, at the end: until then each element only passes through in an Optional.
    """
    optional: Any = tf.experimental.Optional
    spec = dataset.element_spec

    def wrap(first, *others):
        return optional.from_value((first, *others) if others else first)

    def count(counted, element):
        return counted + tf.cast(element.has_value(), tf.int64), (counted, element)

    def keep(counted, element):
        def at_end():
            noted = tf.numpy_function(_noting(note), [run, counted], tf.bool)
            return tf.ensure_shape(noted, [])

        return tf.cond(element.has_value(), lambda: tf.constant(True), at_end)

    end = tf.data.Dataset.range(1).map(lambda _: optional.empty(spec))
    counted = dataset.map(wrap).concatenate(end).scan(tf.constant(0, tf.int64), count)
    return counted.filter(keep).map(lambda _, element: element.get_value())


def _noting(note):
    def at_end(run, count):
        note(int(run), int(count))
        return False

    return at_end
