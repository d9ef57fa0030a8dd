"""The hooks of TrainSpec and EvalSpec as callbacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

__all__ = ["callbacks_of"]


def callbacks_of(hooks: Iterable[Any] | None) -> list[Any]:
    """Returns a callback for each hook; what is a callback already is taken as it is."""
    from migration import to_callback

    # Not known to the type checker, since TensorFlow loads Keras lazily.
    callback: Any = tf.keras.callbacks.Callback
    return [hook if isinstance(hook, callback) else to_callback(hook) for hook in hooks or ()]
