"""A training script as people wrote it in 2018: a serial map, a one-shot iterator, lambdas.

    estimator-io run examples/legacy_pictures.py                 # as it is
    estimator-io run --accelerate examples/legacy_pictures.py    # the same, and not one edit

The two-line change for a program of one's own:

    import estimator_io
    train_spec = tf.estimator.TrainSpec(estimator_io.accelerate(train_input_fn), max_steps=…)
"""

import argparse
import glob
import os
import tempfile

import tensorflow as tf

SIZE = 16


def read(name, label):
    picture = tf.image.decode_jpeg(tf.io.read_file(name), channels=1)
    picture = tf.image.resize(tf.image.convert_image_dtype(picture, tf.float32), [SIZE, SIZE])
    return {"picture": picture}, label


def input_fn(names, labels, batch_size, epochs):
    dataset = tf.data.Dataset.from_tensor_slices((names, labels))
    dataset = dataset.map(read)
    dataset = dataset.prefetch(2000)
    dataset = dataset.repeat(epochs).batch(batch_size)
    features, labels = tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()
    return features, tf.one_hot(labels, 3)


def model_fn(features, labels, mode):
    v1 = tf.compat.v1
    pixels = tf.reshape(features["picture"], [-1, SIZE * SIZE])
    weights = v1.get_variable("weights", [SIZE * SIZE, 3], initializer=v1.zeros_initializer())
    logits = tf.matmul(pixels, weights)
    loss = tf.reduce_mean(v1.nn.softmax_cross_entropy_with_logits_v2(labels, logits))
    step = v1.train.get_global_step()
    train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data_dir", default=os.path.join("examples", "data", "drawings"))
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--batch_size", type=int, default=16)
    arguments = parser.parse_args()

    names = sorted(glob.glob(os.path.join(arguments.data_dir, "*", "*.jpg")))
    folders = sorted({os.path.dirname(name) for name in names})
    labels = [folders.index(os.path.dirname(name)) for name in names]

    with tempfile.TemporaryDirectory() as model_dir:
        estimator = tf.estimator.Estimator(model_fn, model_dir)
        tf.estimator.train_and_evaluate(
            estimator,
            tf.estimator.TrainSpec(
                lambda: input_fn(names, labels, arguments.batch_size, None),
                max_steps=arguments.steps,
            ),
            tf.estimator.EvalSpec(
                lambda: input_fn(names, labels, arguments.batch_size, 1), steps=None
            ),
        )
        result = estimator.evaluate(lambda: input_fn(names, labels, arguments.batch_size, 1))
    print(f"loss {result['loss']:.6f} at step {result['global_step']}")


if __name__ == "__main__":
    main()
