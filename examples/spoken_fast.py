"""Which language is spoken? spoken_slow.py with `audio_input_fn` in place of its input_fn.

The model_fn, train_and_evaluate and the features are the same; reading, labels, split, shuffle,
batches and prefetch are one call. Runs on TensorFlow 2.15 to 2.21.
"""

import argparse
import os
import tempfile

import tensorflow as tf

import estimator_io

estimator_io.compat.install()

LANGUAGES = ["en", "es", "fr", "it", "ru"]


def to_spectrograms(features, labels):
    spectrum = tf.signal.stft(features["audio"], frame_length=256, frame_step=128)
    return {"spectrogram": tf.math.log(tf.abs(spectrum) + 1e-3)}, labels


def input_fn(data, part):
    return estimator_io.audio_input_fn(
        os.path.join(data, "*", "*.wav"),
        length=8000,  # samples: one second
        split=(part, 0.9),
        batch_size=128,
        batch_map=to_spectrograms,
    )


def model_fn(features, labels, mode):
    net = (features["spectrogram"] + 4) / 2
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
