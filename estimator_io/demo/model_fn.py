"""The classifier as a model_fn: two convolutions over time, their mean, one dense layer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.demo.fixed_step import wait
from estimator_io.demo.step_hook import TRAIN_OP

__all__ = ["CHANNELS", "KERNEL", "LEARNING_RATE", "STRIDE", "model_fn", "standardised"]

CHANNELS = 32
KERNEL = 5  # frames
STRIDE = 2
LEARNING_RATE = 2e-3
# Of the log-magnitudes of speech, roughly: what the convolutions see has mean 0 and spread 1.
MEAN, SPREAD = -4.0, 2.0


def model_fn(features: Any, labels: Any, mode: str, params: Mapping[str, Any]) -> Any:
    """Returns the EstimatorSpec of one mode.

    Args:
      features: {"spectrogram": float32 [batch, frames, bins]}.
      labels: int32 [batch].
      mode: a ModeKeys value.
      params: "classes": the number of languages; "step_seconds": None to train, or the length of a
        step that only waits.
    """
    if params["step_seconds"] is not None:
        return _waiting_spec(features, mode, params["step_seconds"])
    logits = _logits(features["spectrogram"], params["classes"])
    loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(labels, logits)
    predicted = tf.argmax(logits, axis=-1)
    optimizer = tf.compat.v1.train.AdamOptimizer(LEARNING_RATE)
    minimize = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode,
        loss=loss,
        train_op=tf.group(minimize, name=TRAIN_OP),
        eval_metric_ops={"accuracy": tf.compat.v1.metrics.accuracy(labels, predicted)},
    )


def standardised(spectrogram: Any) -> Any:
    """Returns `spectrogram` with about mean 0 and spread 1."""
    return (spectrogram - MEAN) / SPREAD


def _logits(spectrogram: Any, classes: int) -> tf.Tensor:
    hidden = _convolution(standardised(spectrogram), "first")
    hidden = _convolution(hidden, "second")
    pooled = tf.reduce_mean(hidden, axis=1)
    kernel = tf.compat.v1.get_variable("dense/kernel", [CHANNELS, classes])
    bias = tf.compat.v1.get_variable("dense/bias", [classes], initializer=tf.zeros_initializer())
    return tf.matmul(pooled, kernel) + bias


def _convolution(inputs: Any, name: str) -> tf.Tensor:
    shape = [KERNEL, int(inputs.shape[-1]), CHANNELS]
    kernel = tf.compat.v1.get_variable(f"{name}/kernel", shape)
    bias = tf.compat.v1.get_variable(f"{name}/bias", [CHANNELS], initializer=tf.zeros_initializer())
    outputs = tf.nn.conv1d(inputs, kernel, stride=STRIDE, padding="VALID")
    return tf.nn.relu(tf.nn.bias_add(outputs, bias))


def _waiting_spec(features: Any, mode: str, seconds: float) -> Any:
    training = mode == "train"
    waited = wait(seconds if training else 0, after=tf.nest.flatten(features))
    with tf.control_dependencies([waited]):
        step = tf.compat.v1.train.get_global_step()
        counted = tf.compat.v1.assign_add(step, 1)
    train_op = tf.group(counted, name=TRAIN_OP)
    return tf.estimator.EstimatorSpec(mode, loss=tf.cast(waited, tf.float32), train_op=train_op)
