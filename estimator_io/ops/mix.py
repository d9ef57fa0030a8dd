"""Several Datasets as one: each next element from a Dataset that is drawn by weight."""

from __future__ import annotations

import tensorflow as tf

DRAWN_AT_ONCE = 1024


@tf.autograph.experimental.do_not_convert
def choices(*, weights, seed):
    """Returns an endless Dataset of int64: which Dataset the next element comes from.

    The number at each position is a function of seed and position alone.
    """
    bounds = tf.cumsum(tf.constant(weights, tf.float64)) / sum(weights)

    def draw(position):
        numbers = tf.random.stateless_uniform(
            [DRAWN_AT_ONCE],
            seed=tf.stack([tf.constant(seed, tf.int64), position]),
            dtype=tf.float64,
            alg="philox",
        )
        chosen = tf.searchsorted(bounds, numbers, side="right", out_type=tf.int64)
        return tf.minimum(chosen, len(weights) - 1)  # the last bound may be just under 1

    return tf.data.Dataset.range(0, 1 << 62, DRAWN_AT_ONCE).map(draw).unbatch()


@tf.autograph.experimental.do_not_convert
def mixed(*, datasets, weights, seed):
    """Returns all elements of `datasets`, each next one from one that still has some, by weight."""
    return tf.data.Dataset.choose_from_datasets(
        list(datasets), choices(weights=weights, seed=seed), stop_on_empty_dataset=False
    )
