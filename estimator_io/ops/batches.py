"""Batches of rows of uneven length: padded, or grouped by length first."""

from __future__ import annotations

import tensorflow as tf


def first_dimension(element):
    """Returns the length of the first feature of `element` that has one: int32 scalar."""
    features = [part for part in tf.nest.flatten(element[0]) if part.shape.rank != 0]
    return tf.shape(features[0])[0]


def fill_values(values, spec):
    """Returns padding values in the structure of `spec`: a number serves every numeric part."""
    if values is None or tf.nest.is_nested(values) or tf.is_tensor(values):
        return values

    def for_part(part):
        if part.dtype == tf.string or part.dtype == tf.bool:
            return values if isinstance(values, (str, bytes, bool)) else None
        return None if isinstance(values, (str, bytes)) else tf.constant(values, part.dtype)

    return tf.nest.map_structure(for_part, spec)


@tf.autograph.experimental.do_not_convert
def padded_batch(dataset, *, batch_size, values, drop_remainder, padded_shapes=None):
    """Batches rows of uneven length, padded with `values` to the longest of their batch."""
    return dataset.padded_batch(
        batch_size,
        padded_shapes=padded_shapes,
        padding_values=fill_values(values, dataset.element_spec),
        drop_remainder=drop_remainder,
    )


@tf.autograph.experimental.do_not_convert
def batch_by_length(dataset, *, boundaries, batch_sizes, element_length, drop_remainder, values):
    """Batches rows of similar length, padded to the longest of their batch."""
    # As a tf.function, which AutoGraph converts: it may branch on the values of a row.
    given = None if element_length is None else tf.function(element_length)

    def length_of(*element):
        return first_dimension(element) if given is None else given(*element)

    return dataset.bucket_by_sequence_length(
        length_of,
        bucket_boundaries=boundaries,
        bucket_batch_sizes=batch_sizes,
        padding_values=fill_values(values, dataset.element_spec),
        drop_remainder=drop_remainder,
    )
