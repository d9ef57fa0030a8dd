"""Which language is spoken? The script as people write it, for tf.estimator.

It knows nothing of estimator_io. On TensorFlow 2.15 run it with `python`; on 2.16 and later, which
have no tf.estimator of their own, with `estimator-io run examples/spoken_slow.py`. It needs
soundfile. spoken_fast.py is the same program with another input_fn.
"""

import argparse
import glob
import os
import random
import tempfile

import numpy as np
import soundfile
import tensorflow as tf

LANGUAGES = ["en", "es", "fr", "it", "ru"]
LENGTH = 8000  # samples: one second


def read_wav(path):
    samples, _ = soundfile.read(path.decode(), dtype="float32")
    samples = samples[:LENGTH]
    return np.pad(samples, (0, LENGTH - len(samples)))


def load(path, label):
    audio = tf.numpy_function(read_wav, [path], tf.float32)
    audio.set_shape([LENGTH])
    return audio, label


def to_spectrogram(audio, label):
    spectrum = tf.signal.stft(audio, frame_length=256, frame_step=128)
    return {"spectrogram": tf.math.log(tf.abs(spectrum) + 1e-3)}, label


def input_fn(files, labels, epochs=None):
    dataset = tf.data.Dataset.from_tensor_slices((files, labels))
    dataset = dataset.map(load)
    dataset = dataset.shuffle(len(labels))
    dataset = dataset.map(to_spectrogram)
    dataset = dataset.batch(128)
    dataset = dataset.repeat(epochs)
    iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)
    return iterator.get_next()


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

    files = sorted(glob.glob(os.path.join(arguments.data, "*", "*.wav")))
    random.Random(0).shuffle(files)
    labels = [LANGUAGES.index(os.path.basename(os.path.dirname(file))) for file in files]
    cut = len(files) * 9 // 10

    with tempfile.TemporaryDirectory() as model_dir:
        estimator = tf.estimator.Estimator(model_fn, model_dir)
        train_spec = tf.estimator.TrainSpec(
            lambda: input_fn(files[:cut], labels[:cut]), max_steps=arguments.steps
        )
        eval_spec = tf.estimator.EvalSpec(
            lambda: input_fn(files[cut:], labels[cut:], epochs=1), steps=None
        )
        result, _ = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    print(f"accuracy {result['accuracy']:.2f} after {result['global_step']} steps")


if __name__ == "__main__":
    main()
