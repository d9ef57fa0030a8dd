"""Which language is spoken? The reader is Python (soundfile), in two worker processes.

spoken_slow.py reads the same recordings with the same library in the training process, where Python
runs one call at a time. Runs on TensorFlow 2.15 to 2.21. The workers do not need the guard around
main(): they never run this script.
"""

import argparse
import os
import tempfile

import numpy as np
import soundfile
import tensorflow as tf

import estimator_io

estimator_io.compat.install()

LANGUAGES = ["en", "es", "fr", "it", "ru"]
LENGTH = 8000  # samples: one second


def read(path, label):
    samples, _ = soundfile.read(path, dtype="float32")
    audio = np.zeros(LENGTH, np.float32)
    audio[: len(samples)] = samples[:LENGTH]
    return {"audio": audio}, label


def louder_or_softer(features, label, seed):
    gain = np.random.default_rng(seed).uniform(0.5, 1.5)
    return {"audio": features["audio"] * np.float32(gain)}, label


def input_fn(data, part):
    return estimator_io.input_fn(
        os.path.join(data, "*", "*.wav"),
        labels="folder",
        split=(part, 0.9),
        parse=read,
        augment=louder_or_softer,
        batch_size=64,
        processes=2,
    )


def model_fn(features, labels, mode):
    spectrum = tf.signal.stft(features["audio"], frame_length=256, frame_step=128)
    net = (tf.math.log(tf.abs(spectrum) + 1e-3) + 4) / 2
    net = tf.compat.v1.layers.conv1d(net, 32, 5, strides=2, activation=tf.nn.relu)
    net = tf.compat.v1.layers.conv1d(net, 32, 5, strides=2, activation=tf.nn.relu)
    logits = tf.compat.v1.layers.dense(tf.reduce_mean(net, axis=1), len(LANGUAGES))
    loss = tf.compat.v1.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.compat.v1.train.AdamOptimizer(2e-3)
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_global_step())
    accuracy = tf.compat.v1.metrics.accuracy(labels, tf.argmax(logits, axis=-1))
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metric_ops={"accuracy": accuracy}
    )


def main():
    parser = argparse.ArgumentParser(description="Train on examples/data/spoken.")
    parser.add_argument("--data", default="examples/data/spoken")
    parser.add_argument("--steps", type=int, default=150)
    arguments = parser.parse_args()

    with tempfile.TemporaryDirectory() as model_dir:
        estimator = tf.estimator.Estimator(model_fn, model_dir)
        train_spec = tf.estimator.TrainSpec(
            input_fn(arguments.data, "train"), max_steps=arguments.steps
        )
        eval_spec = tf.estimator.EvalSpec(input_fn(arguments.data, "validation"), steps=None)
        result, _ = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    print(f"accuracy {result['accuracy']:.2f} after {result['global_step']} steps")


if __name__ == "__main__":
    main()
