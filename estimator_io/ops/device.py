"""Batches on an accelerator before the step asks for them."""

from __future__ import annotations

import tensorflow as tf


def on_device(dataset, *, device, ahead=1):
    """Returns `dataset` with each batch copied to `device`, `ahead` batches before it is asked for.

    Strings stay in the host's memory, where TensorFlow keeps them on every device.
    """
    copied = dataset.apply(tf.data.experimental.copy_to_device(device))
    with tf.device(device):
        return copied.prefetch(ahead)
