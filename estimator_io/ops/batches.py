"""Batches of rows of uneven length: padded, or grouped by length first."""

from __future__ import annotations

import tensorflow as tf


def first_dimension(element):
    """Returns the length of the first feature of `element`, (features, …): int32 scalar."""
    return tf.shape(tf.nest.flatten(element[0])[0])[0]


@tf.autograph.experimental.do_not_convert
def batch_by_length(dataset, *, boundaries, batch_sizes, element_length, drop_remainder, values):
    """Batches rows of similar length, padded to the longest of their batch."""

    def length_of(*element):
        if element_length is None:
            return first_dimension(element)
        return element_length(*element)

    return dataset.bucket_by_sequence_length(
        length_of,
        bucket_boundaries=boundaries,
        bucket_batch_sizes=batch_sizes,
        padding_values=values,
        drop_remainder=drop_remainder,
    )
