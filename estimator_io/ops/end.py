"""Noticing the end of a Dataset without touching what it yields."""

from __future__ import annotations

from typing import Any

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def with_end(dataset, *, note, run):
    """Returns `dataset`; at its end `note(run, count)` is called with the number of its elements.

    Python is called once. The call comes before the last element is handed on, so that whoever
    trains on that element can know that it was the last: each waits until the next one is there.
    """
    optional: Any = tf.experimental.Optional
    spec = dataset.element_spec

    def wrap(first, *others):
        return optional.from_value((first, *others) if others else first)

    def pair(count, window):
        this, following = (window.skip(at).take(1).get_single_element() for at in (0, 1))
        return this, count, following.has_value()

    def keep(this, count, goes_on):
        def at_end():
            noted = tf.numpy_function(_noting(note), [run, count], tf.bool)
            return tf.logical_and(tf.ensure_shape(noted, []), this.has_value())

        return tf.cond(goes_on, this.has_value, at_end)

    border = tf.data.Dataset.range(1).map(lambda _: optional.empty(spec))
    bordered = border.concatenate(dataset.map(wrap)).concatenate(border)
    pairs: Any = bordered.window(2, shift=1, drop_remainder=True).enumerate().map(pair)
    return pairs.filter(keep).map(lambda this, *_: this.get_value())


def _noting(note):
    def at_end(run, count):
        note(int(run), int(count))
        return True

    return at_end
