"""Which language is spoken? A reader in Python and a hand-written loop, as of 2018.

tf.py_func for the recordings, a one-shot iterator, train() and evaluate() in turns, predictions at
the end. It knows nothing of estimator_io. Run it with `estimator-io run
examples/legacy/prompts.py`; on TensorFlow 2.15 `python` does too. docs/legacy.md shows what two
lines change.
"""

import argparse
import glob
import os
import random
import tempfile
import wave

import numpy as np
import tensorflow.compat.v1 as tf

LANGUAGES = ["en", "es", "fr", "it", "ru"]
LENGTH = 4000  # samples: half a second


def read_wav(path):
    with wave.open(path.decode(), "rb") as file:
        samples = np.frombuffer(file.readframes(LENGTH), np.int16)
    samples = np.pad(samples, (0, LENGTH - len(samples)), "constant")
    return samples.astype(np.float32) / 32768.0


def load(path, label):
    audio = tf.py_func(read_wav, [path], tf.float32)
    audio.set_shape([LENGTH])
    return {"audio": audio}, label


def input_fn(files, training, batch_size):
    labels = [LANGUAGES.index(os.path.basename(os.path.dirname(file))) for file in files]
    dataset = tf.data.Dataset.from_tensor_slices((files, labels))
    dataset = dataset.map(load)
    if training:
        dataset = dataset.repeat()
        dataset = dataset.shuffle(500)
    dataset = dataset.batch(batch_size)
    return tf.data.make_one_shot_iterator(dataset).get_next()


def input_fn_for(files, training, batch_size):
    return lambda: input_fn(files, training, batch_size)


def model_fn(features, labels, mode):
    spectrum = tf.abs(tf.signal.stft(features["audio"], frame_length=256, frame_step=128))
    net = tf.log(spectrum + 1e-3) / 2 + 1
    net = tf.layers.conv1d(net, 32, 5, strides=2, activation=tf.nn.relu)
    logits = tf.layers.dense(tf.reduce_mean(net, axis=1), len(LANGUAGES))
    predictions = {"language": tf.argmax(logits, axis=1)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = tf.train.AdamOptimizer(2e-3)
    return tf.estimator.EstimatorSpec(
        mode,
        loss=loss,
        train_op=optimizer.minimize(loss, tf.train.get_global_step()),
        eval_metric_ops={"accuracy": tf.metrics.accuracy(labels, predictions["language"])},
    )


def main():
    parser = argparse.ArgumentParser(description="Train on examples/data/spoken.")
    parser.add_argument("--data_dir", default="examples/data/spoken")
    parser.add_argument("--model_dir")
    parser.add_argument("--batch_size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--steps", type=int, default=15)
    args = parser.parse_args()

    tf.logging.set_verbosity(tf.logging.ERROR)
    files = sorted(glob.glob(os.path.join(args.data_dir, "*", "*.wav")))
    random.Random(0).shuffle(files)
    cut = len(files) * 9 // 10
    config = tf.estimator.RunConfig(tf_random_seed=1)
    estimator = tf.estimator.Estimator(
        model_fn, model_dir=args.model_dir or tempfile.mkdtemp(), config=config
    )
    metrics = {}
    for _ in range(args.rounds):
        estimator.train(input_fn_for(files[:cut], True, args.batch_size), steps=args.steps)
        metrics = estimator.evaluate(input_fn_for(files[cut:], False, args.batch_size))
    predictions = estimator.predict(input_fn_for(files[cut:], False, args.batch_size))
    named = [LANGUAGES[prediction["language"]] for prediction in predictions]
    print("%d of %d files named" % (len(named), len(files) - cut))
    print("accuracy %.2f after %d steps" % (metrics["accuracy"], metrics["global_step"]))


if __name__ == "__main__":
    main()
