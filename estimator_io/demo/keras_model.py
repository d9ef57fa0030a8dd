"""The same classifier for model.fit, on Keras 2.15 and on Keras 3."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from estimator_io.demo.fixed_step import wait
from estimator_io.demo.model_fn import CHANNELS, KERNEL, LEARNING_RATE, STRIDE, standardised

__all__ = ["Stamp", "build_model"]


class Stamp:
    """When the latest batch came, and how many rows it had.

    It is no Keras object, so that the model neither tracks nor saves its variables.
    """

    def __init__(self) -> None:
        with tf.device("/cpu:0"):
            self._arrival = tf.Variable(tf.zeros([], tf.float64), trainable=False)
            self._rows = tf.Variable(tf.zeros([], tf.int32), trainable=False)

    def write(self, features: Any) -> tf.Operation:
        """Returns the operation that notes, once they have come, the time and rows of features."""
        leaves = tf.nest.flatten(features)
        with tf.device("/cpu:0"), tf.control_dependencies(leaves):
            arrival = self._arrival.assign(tf.timestamp())
            rows = self._rows.assign(tf.shape(leaves[0])[0])
        return tf.group(arrival, rows)

    def read(self) -> tuple[float, int]:
        """Returns (time in seconds since the epoch, rows)."""
        return float(self._arrival.numpy()), int(self._rows.numpy())


def build_model(element_spec: Any, *, classes: int, step_seconds: float | None) -> Any:
    """Returns (compiled model, its `Stamp`).

    Args:
      element_spec: of a batch, ({"spectrogram": [batch, frames, bins]}, labels).
      classes: the number of languages.
      step_seconds: None to train, or the length of a step that only waits.
    """
    stamp = Stamp()
    inputs = tf.keras.Input(tuple(element_spec[0]["spectrogram"].shape[1:]), name="spectrogram")
    layers = tf.keras.layers
    hidden = layers.Conv1D(CHANNELS, KERNEL, strides=STRIDE, activation="relu")(
        standardised(inputs)
    )
    hidden = layers.Conv1D(CHANNELS, KERNEL, strides=STRIDE, activation="relu")(hidden)
    logits = layers.Dense(classes)(layers.GlobalAveragePooling1D()(hidden))
    model = _timed_model(stamp, step_seconds)({"spectrogram": inputs}, logits)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(LEARNING_RATE),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        # Keras refuses to report a metric that no step has updated.
        metrics=["accuracy"] if step_seconds is None else None,
        jit_compile=False,  # XLA compiles neither a timestamp nor a wait
    )
    return model, stamp


def _timed_model(stamp: Stamp, step_seconds: float | None) -> Any:
    """Returns a Model class whose train_step writes `stamp`."""

    class TimedModel(tf.keras.Model):
        def train_step(self, data: Any) -> Any:
            with tf.control_dependencies([stamp.write(data[0])]):
                if step_seconds is None:
                    return super().train_step(data)
                return {"loss": wait(step_seconds, after=tf.nest.flatten(data[0]))}

    return TimedModel
