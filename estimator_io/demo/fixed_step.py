"""A step of fixed length that uses no CPU: how a step on an accelerator looks to the host."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

__all__ = ["wait"]


def wait(seconds: float, *, after: Sequence[Any]) -> tf.Tensor:
    """Returns an int64 scalar 0 that is there `seconds` after the tensors `after` are.

    The wait is one of TensorFlow's own operations: a sleep in Python would have to get the
    interpreter lock back at its end, and a reader in Python would make the step longer.
    """
    with tf.device("/cpu:0"), tf.control_dependencies(after):
        zeros = tf.raw_ops.TensorDataset(
            components=[tf.constant(0, tf.int64)], output_shapes=[tf.TensorShape([])]
        )
        slow = tf.raw_ops.SleepDataset(
            input_dataset=zeros,
            sleep_microseconds=tf.constant(round(seconds * 1e6), tf.int64),
            output_types=[tf.int64],
            output_shapes=[tf.TensorShape([])],
        )
        # Without take, the look for a second element would sleep again.
        one = tf.raw_ops.TakeDataset(
            input_dataset=slow,
            count=tf.constant(1, tf.int64),
            output_types=[tf.int64],
            output_shapes=[tf.TensorShape([])],
        )
        element = tf.raw_ops.DatasetToSingleElement(
            dataset=one, output_types=[tf.int64], output_shapes=[tf.TensorShape([])]
        )
    return element[0]
