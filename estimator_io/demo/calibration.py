"""How long the preparation of a batch takes when nothing else runs."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import tensorflow as tf

__all__ = ["preparation_seconds"]


def preparation_seconds(input_fn: Callable[[], Any], batches_per_epoch: int) -> float:
    """Returns the mean seconds between batches of an endless input_fn, over three epochs.

    Whole epochs are measured, since a shuffle of decoded rows makes the first batch of each wait
    until its buffer is full. One epoch before them warms up.
    """
    v1: Any = tf.compat.v1
    with tf.Graph().as_default():
        batch = input_fn()
        if isinstance(batch, tf.data.Dataset):
            batch = v1.data.make_one_shot_iterator(batch).get_next()
        # Running the operation moves no data out of TensorFlow, as fetching its tensors would.
        get_next = tf.nest.flatten(batch)[0].op
        with v1.Session() as session:
            _run(session, get_next, batches_per_epoch)
            began = time.perf_counter()
            _run(session, get_next, 3 * batches_per_epoch)
            return (time.perf_counter() - began) / (3 * batches_per_epoch)


def _run(session: Any, operation: Any, times: int) -> None:
    for _ in range(times):
        session.run(operation)
