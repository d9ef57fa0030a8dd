"""Work done once: run it twice, and the second run decodes no picture.

    python examples/cached_pictures.py --cache /tmp/pictures

Trains a small classifier on drawings under the Estimator. Each picture that is decoded leaves a
line in a file beside the cache, so that the runs can be compared.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import tensorflow as tf

import estimator_io

DRAWINGS = Path(__file__).resolve().parent / "data" / "drawings"
LOG = "decoded.log"


def decode(path, label, log):
    """One picture: uint8, since the store then holds a quarter of what float32 would take."""

    def note(name):
        with open(log, "a") as file:
            file.write(f"{name.decode()}\n")
        return name

    path = tf.ensure_shape(tf.numpy_function(note, [path], tf.string), [])
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
    picture = tf.image.resize(picture, (32, 32))
    return {"picture": tf.cast(tf.round(picture), tf.uint8)}, label


def to_floats(features, labels):
    return {"picture": tf.cast(features["picture"], tf.float32) / 255.0}, labels


def model_fn(features, labels, mode):
    v1 = tf.compat.v1
    pixels = tf.reshape(features["picture"], [-1, 32 * 32 * 3])
    weights = v1.get_variable("weights", [32 * 32 * 3, 10], initializer=v1.zeros_initializer())
    logits = pixels @ weights
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    step = v1.train.get_global_step()
    train_op = v1.train.AdamOptimizer(1e-3).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main(cache: str, steps: int) -> int:
    """Trains and evaluates; returns how many pictures were decoded."""
    os.makedirs(cache, exist_ok=True)
    log = os.path.join(cache, LOG)
    before = len(Path(log).read_text().splitlines()) if os.path.exists(log) else 0
    fn = estimator_io.input_fn(
        str(DRAWINGS / "**" / "*.jpg"),
        labels="folder",
        parse=lambda path, label: decode(path, label, log),
        cache=os.path.join(cache, "store"),
        batch_map=to_floats,
        batch_size=16,
    )
    estimator_io.compat.install()
    estimator = tf.estimator.Estimator(model_fn)
    estimator.train(fn, steps=steps)
    estimator.evaluate(fn)
    decoded = len(Path(log).read_text().splitlines()) - before
    print(f"{decoded} of {fn.num_rows} pictures were decoded in this run")
    return decoded


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--cache", required=True, help="a folder that is kept between runs")
    parser.add_argument("--steps", type=int, default=5)
    arguments = parser.parse_args()
    main(arguments.cache, arguments.steps)
