"""The same hooks under the Estimator and under model.fit, on the same recordings.

A linear model of how loud the parts of a recording are learns to tell five languages apart. Its
training has three hooks: one of TensorFlow's that stops it, one of its own that keeps the losses,
and InputMonitor, which tells at the end how long steps waited for input. Under fit the first two
become callbacks; InputMonitor is one already.

Run: python examples/hooks_under_fit.py
"""

from __future__ import annotations

import tempfile
from typing import Any

import tensorflow as tf

import estimator_io
import migration

estimator_io.compat.install()

v1 = tf.compat.v1
FILES = "examples/data/spoken/*/digits_1?.wav"
RATE = 0.1


class Losses(v1.train.SessionRunHook):
    """Keeps the loss of every step; asks for it by its name, as programs of 2018 do."""

    def __init__(self) -> None:
        self.values: list[float] = []

    def before_run(self, run_context: Any) -> Any:
        return v1.train.SessionRunArgs("loss:0")

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.values.append(float(run_values.results))


def loudness(features, labels):
    """The loudness of 8 parts of each recording."""
    parts = tf.reshape(features["audio"], [-1, 8, 1000])
    logarithms = tf.math.log(tf.reduce_mean(tf.square(parts), 2) + 1e-6)
    return {"loudness": logarithms / 3 + 2}, labels


def input_fn() -> estimator_io.InputFn:
    return estimator_io.audio_input_fn(
        FILES, length=8000, batch_size=16, batch_map=loudness, seed=1, position="restart"
    )


def model_fn(features, labels, mode):
    weights = v1.get_variable("weights", [8, 5], initializer=v1.zeros_initializer())
    logits = tf.matmul(features["loudness"], weights)
    losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits)
    loss = tf.reduce_mean(losses, name="loss")
    step = v1.train.get_global_step()
    train_op = v1.train.GradientDescentOptimizer(RATE).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def by_estimator(steps: int) -> list[float]:
    """Returns the loss of each step under the Estimator."""
    losses = Losses()
    hooks = [losses, v1.train.StopAtStepHook(steps), estimator_io.InputMonitor()]
    tf.estimator.Estimator(model_fn, tempfile.mkdtemp()).train(input_fn(), hooks=hooks)
    return losses.values


def by_fit(steps: int) -> list[float]:
    """Returns the loss of each step under model.fit."""
    inputs = tf.keras.Input((8,), name="loudness")
    outputs = tf.keras.layers.Dense(5, use_bias=False, kernel_initializer="zeros")(inputs)
    model = tf.keras.Model({"loudness": inputs}, outputs)
    model.compile(
        tf.keras.optimizers.SGD(RATE),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    losses = Losses()
    callbacks = [
        migration.to_callback(losses),
        migration.to_callback(v1.train.StopAtStepHook(num_steps=steps)),
        estimator_io.InputMonitor(),
    ]
    data = input_fn().dataset("train")
    model.fit(data, steps_per_epoch=10, epochs=100, verbose=0, callbacks=callbacks)
    return losses.values


def main(steps: int = 25) -> tuple[list[float], list[float]]:
    """Trains both ways, and returns the losses of each."""
    return by_estimator(steps), by_fit(steps)


if __name__ == "__main__":
    for step, (first, second) in enumerate(zip(*main(), strict=True), 1):
        print(f"step {step:3d}  Estimator {first:.6f}  fit {second:.6f}")
