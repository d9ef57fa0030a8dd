"""The loss among what a session is asked for in a training step."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

__all__ = ["loss_among"]


def loss_among(fetches: Any) -> Any:
    """Returns the one scalar of floats, which the Estimator fetches beside its train_op; or None.

    Args:
      fetches: of `run_context.original_args`.
    """
    for fetch in tf.nest.flatten(fetches):
        if getattr(fetch, "dtype", None) in (tf.float32, tf.float64) and fetch.shape.rank == 0:
            return fetch
    return None
