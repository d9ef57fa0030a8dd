"""A limit of memory that changes the order is noticed where training goes on."""

import pytest
import tensorflow as tf

import estimator_io
from estimator_io.errors import PositionError


def test_training_on_a_machine_with_another_limit_keeps_its_order_or_says_why_not(
    recording_estimator,
):
    def make():
        return tf.data.Dataset.range(3000).map(lambda i: tf.fill([1000], tf.cast(i, tf.float32)))

    fn = estimator_io.input_fn(make, memory_limit="4MB", batch_size=2, seed=1)
    estimator, rows = recording_estimator()
    estimator.train(fn, steps=2)
    with pytest.raises(PositionError) as caught:
        estimator.train(fn.replace(memory_limit="2MB"), steps=2)
    assert "held 256 rows and is to hold 128 (shuffle=256 goes on" in str(caught.value)
    estimator.train(fn.replace(memory_limit="1GB", shuffle=256), steps=2)
    one = [int(row[0]) for batch in rows["train"] for row in batch]
    whole = fn("train").take(4).as_numpy_iterator()
    assert one == [int(row[0]) for batch in whole for row in batch]
