"""Predictions joined to the files they were made of, by the key of each row.

A small model of how loud a recording is learns to tell languages apart; each prediction is then
written beside the path of its recording. Under the Estimator the key passes through model_fn.

Run: python examples/predict_with_keys.py
"""

from __future__ import annotations

import tempfile

import tensorflow as tf

import estimator_io

estimator_io.compat.install()

FILES = "examples/data/spoken/*/digits_1?.wav"


def model_fn(features, labels, mode):
    """A linear model over the loudness of 8 parts of a recording."""
    parts = tf.reshape(features["audio"], [-1, 8, 1000])
    loudness = tf.math.log(tf.reduce_mean(tf.square(parts), 2) + 1e-6)
    weights = tf.compat.v1.get_variable("weights", [8, 5])
    logits = tf.matmul(loudness, weights)
    if mode == "infer":
        found = {"key": features["key"], "class": tf.argmax(logits, 1)}
        return tf.estimator.EstimatorSpec(mode, predictions=found)
    loss = tf.reduce_mean(tf.nn.sparse_softmax_cross_entropy_with_logits(labels, logits))
    step = tf.compat.v1.train.get_global_step()
    train_op = tf.compat.v1.train.AdamOptimizer(0.01).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main(model_dir: str | None = None, steps: int = 50) -> dict[str, str]:
    """Trains, predicts, and returns the predicted language of each file."""
    fn = estimator_io.audio_input_fn(FILES, length=8000, batch_size=16, seed=1, key=True)
    estimator = tf.estimator.Estimator(model_fn, model_dir or tempfile.mkdtemp())
    estimator.train(fn, steps=steps)
    assert fn.class_names is not None
    names = fn.class_names
    return {
        row["key"].decode(): names[row["class"]] for row in estimator.predict(fn.for_mode("infer"))
    }


if __name__ == "__main__":
    for path, language in main().items():
        print(path, language)
