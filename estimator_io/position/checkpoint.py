"""The global step that a session is going to restore."""

from __future__ import annotations

import tensorflow as tf

__all__ = ["checkpoint_step"]


def checkpoint_step(model_dir: str) -> int:
    """Returns the global step of the newest checkpoint in `model_dir`, 0 where there is none."""
    path = tf.train.latest_checkpoint(model_dir)
    if path is None:
        return 0
    reader = tf.train.load_checkpoint(path)
    name = tf.compat.v1.GraphKeys.GLOBAL_STEP
    return int(reader.get_tensor(name)) if reader.has_tensor(name) else 0
