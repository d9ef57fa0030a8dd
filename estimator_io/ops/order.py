"""Orders and seeds as pure functions of (seed, epoch, position): no state, no buffer of rows."""

from __future__ import annotations

import tensorflow as tf

# Up to this many rows an epoch's order is one explicit permutation, uniform over all orders: 16 MB
# while it is drawn, about 0.1 s. Above it the order is computed row by row, in constant memory.
EXPLICIT_PERMUTATION_ROWS = 1 << 20
ROWS_PER_BLOCK = 4096
# Later passes over a finite dataset take their random numbers from later blocks of this length.
POSITIONS_PER_PASS = 1 << 40


@tf.autograph.experimental.do_not_convert
def permutation(epoch, *, size, seed):
    """Returns the uniformly drawn order of `size` rows in `epoch`: int64 [size]."""
    keys = tf.random.stateless_uniform(
        [size],
        seed=tf.stack([tf.constant(seed, tf.int64), tf.cast(epoch, tf.int64)]),
        minval=None,  # pyright: ignore[reportArgumentType] (None: the whole range of the dtype)
        maxval=None,
        dtype=tf.int64,
        alg="philox",
    )
    return tf.cast(tf.argsort(keys, stable=True), tf.int64)


@tf.autograph.experimental.do_not_convert
def rows_to_skip(epoch, *, first_epoch, skip):
    """Returns the rows to pass over in `epoch`: `skip` in the first one that is read, int64."""
    return tf.where(tf.equal(epoch, first_epoch), skip, tf.constant(0, tf.int64))


@tf.autograph.experimental.do_not_convert
def epoch_in_order(epoch, *, size, first=0, step=1, start=None):
    """Returns a Dataset of the `size` row indices `first`, `first + step`, …

    `start` is (first_epoch, skip) where reading starts within an epoch.
    """
    passed = 0 if start is None else rows_to_skip(epoch, first_epoch=start[0], skip=start[1])
    return tf.data.Dataset.range(first + passed * step, first + size * step, step)


@tf.autograph.experimental.do_not_convert
def epoch_order(epoch, *, size, seed, first=0, step=1, start=None):
    """Returns a Dataset of the row indices `first`, `first + step`, … in the order of `epoch`.

    `start` is (first_epoch, skip) where reading starts within an epoch: what is passed over is
    never looked at.
    """
    passed = 0 if start is None else rows_to_skip(epoch, first_epoch=start[0], skip=start[1])
    if size <= EXPLICIT_PERMUTATION_ROWS:
        order = permutation(epoch, size=size, seed=seed)[passed:]
        return tf.data.Dataset.from_tensor_slices(order * step + first)
    key = tf.random.stateless_uniform(
        [2],
        seed=tf.stack([tf.constant(seed, tf.int64), tf.cast(epoch, tf.int64)]),
        minval=None,  # pyright: ignore[reportArgumentType] (None: the whole range of the dtype)
        maxval=None,
        dtype=tf.uint32,
        alg="philox",
    )
    blocks = tf.data.Dataset.range(passed, size).batch(ROWS_PER_BLOCK)
    rows = blocks.map(
        lambda block: tf.random.experimental.index_shuffle(block, key, size - 1) * step + first
    )
    return rows.unbatch()


@tf.autograph.experimental.do_not_convert
def next_epochs(*, epochs, passes):
    """Returns a Dataset of the next `epochs` epoch numbers; `passes` counts the passes begun."""
    return tf.data.Dataset.range(1).flat_map(
        lambda _: tf.data.Dataset.range(
            (passes.assign_add(1) - 1) * epochs, passes.read_value() * epochs
        )
    )


@tf.autograph.experimental.do_not_convert
def positions(*, passes=None, first=0):
    """Returns a Dataset of `first`, `first + 1`, …; with `passes`, of numbers new to each pass."""
    if passes is None:
        return tf.data.Dataset.range(first, 1 << 62)
    return tf.data.Dataset.range(1).flat_map(
        lambda _: tf.data.Dataset.range((passes.assign_add(1) - 1) * POSITIONS_PER_PASS, 1 << 62)
    )


@tf.autograph.experimental.do_not_convert
def numbered(dataset, *, numbers):
    """Returns (number, element) pairs: each element with the next of `numbers`."""
    return tf.data.Dataset.zip((numbers, dataset))


def with_seed(position, element, *, function, seed):
    """Calls `function` on `element` with a stateless seed, int64 [2], made of seed and position."""
    pair = tf.stack([tf.constant(seed, tf.int64), position])
    if isinstance(element, tuple):
        return function(*element, seed=pair)
    return function(element, seed=pair)


@tf.autograph.experimental.do_not_convert
def shuffled(dataset, epoch, *, buffer_size, seed):
    """Returns `dataset` shuffled through a buffer of rows, in an order that only `epoch` changes.

    A seed that the program set for the whole graph does not reach in here.
    """
    tf.compat.v1.set_random_seed(seed % (1 << 31))
    return dataset.shuffle(buffer_size, seed=epoch, reshuffle_each_iteration=False)


@tf.autograph.experimental.do_not_convert
def repeat_shuffled(dataset, *, epochs, buffer_size, seed):
    """Repeats `dataset` once for each number in the Dataset `epochs`, each time in a new order."""

    def one_epoch(epoch):
        return shuffled(dataset, epoch, buffer_size=buffer_size, seed=seed)

    return epochs.flat_map(one_epoch)
