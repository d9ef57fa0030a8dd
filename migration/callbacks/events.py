"""Event files of hooks under fit."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

__all__ = ["writer_of"]


def writer_of(hook: Any) -> Any:
    """Returns the FileWriter of a hook that has one or names a folder; else None.

    A folder has one writer in a process, shared with TensorFlow's own hooks.
    """
    if hook._summary_writer is None and hook._output_dir:
        with tf.Graph().as_default():  # made in eager execution it would refuse to work
            return tf.compat.v1.summary.FileWriterCache.get(hook._output_dir)
    return hook._summary_writer
