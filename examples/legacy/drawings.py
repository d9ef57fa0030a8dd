"""What does a drawing show? A model_fn of its own with hooks and exporters, as of 2018.

absl flags, a shuffle behind the decoding, no parallel calls, no prefetch. It knows nothing of
estimator_io. Run it with `estimator-io run examples/legacy/drawings.py`; on TensorFlow 2.15
`python` does too. docs/legacy.md shows what two lines change.
"""

import glob
import os
import tempfile

import tensorflow.compat.v1 as tf
from absl import app, flags

FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", "examples/data/drawings", "A folder of JPEG files for each class.")
flags.DEFINE_string("model_dir", None, "Where checkpoints go; a temporary folder if not given.")
flags.DEFINE_integer("batch_size", 16, "Pictures a batch.")
flags.DEFINE_integer("train_steps", 30, "Steps to train.")
flags.DEFINE_float("learning_rate", 0.01, "Of Adam.")

CLASSES = ["animals", "food", "transport"]
SIZE = 48


def load(path, label):
    picture = tf.image.decode_jpeg(tf.read_file(path), channels=3)
    picture = tf.image.resize_images(picture, [SIZE, SIZE])
    return picture, label


def flip(picture, label):
    return tf.image.random_flip_left_right(picture), label


def input_fn(files, training, params):
    labels = [CLASSES.index(os.path.basename(os.path.dirname(file))) for file in files]
    dataset = tf.data.Dataset.from_tensor_slices((files, labels))
    dataset = dataset.map(load)
    if training:
        dataset = dataset.map(flip)
        dataset = dataset.shuffle(buffer_size=len(files))
        dataset = dataset.repeat()
    dataset = dataset.map(lambda picture, label: ({"image": picture}, label))
    return dataset.batch(params["batch_size"])


def input_fn_for(files, training):
    return lambda params: input_fn(files, training, params)


def model_fn(features, labels, mode, params):
    training = mode == tf.estimator.ModeKeys.TRAIN
    net = features["image"] / 127.5 - 1
    net = tf.layers.conv2d(net, 16, 3, strides=2, activation=tf.nn.relu)
    net = tf.layers.conv2d(net, 32, 3, strides=2, activation=tf.nn.relu)
    net = tf.reduce_mean(net, axis=[1, 2])
    net = tf.layers.dropout(net, 0.1, training=training)
    logits = tf.layers.dense(net, len(CLASSES))
    predictions = {"class": tf.argmax(logits, axis=1), "probabilities": tf.nn.softmax(logits)}
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, predictions=predictions)
    loss = tf.losses.sparse_softmax_cross_entropy(labels, logits)
    metrics = {"accuracy": tf.metrics.accuracy(labels, predictions["class"])}
    if mode == tf.estimator.ModeKeys.EVAL:
        return tf.estimator.EstimatorSpec(mode, loss=loss, eval_metric_ops=metrics)
    optimizer = tf.train.AdamOptimizer(params["learning_rate"])
    train_op = optimizer.minimize(loss, tf.train.get_global_step())
    tf.identity(loss, name="cross_entropy")
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def serving_input_receiver_fn():
    pictures = tf.placeholder(tf.float32, [None, SIZE, SIZE, 3], name="image")
    features = {"image": pictures}
    return tf.estimator.export.ServingInputReceiver(features, features)


def main(_):
    tf.logging.set_verbosity(tf.logging.ERROR)
    files = sorted(glob.glob(os.path.join(FLAGS.data_dir, "*", "*.jpg")))
    train_files = [file for at, file in enumerate(files) if at % 4]
    test_files = [file for at, file in enumerate(files) if not at % 4]
    params = {"batch_size": FLAGS.batch_size, "learning_rate": FLAGS.learning_rate}
    config = tf.estimator.RunConfig(
        model_dir=FLAGS.model_dir or tempfile.mkdtemp(), tf_random_seed=1, save_checkpoints_steps=15
    )
    estimator = tf.estimator.Estimator(model_fn, params=params, config=config)
    hooks = [
        tf.train.LoggingTensorHook({"loss": "cross_entropy"}, every_n_iter=10),
        tf.train.StepCounterHook(every_n_steps=10),
    ]
    exporters = [
        tf.estimator.BestExporter(serving_input_receiver_fn=serving_input_receiver_fn),
        tf.estimator.FinalExporter("final", serving_input_receiver_fn),
    ]
    metrics, exported = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(
            input_fn_for(train_files, True), max_steps=FLAGS.train_steps, hooks=hooks
        ),
        tf.estimator.EvalSpec(
            input_fn_for(test_files, False), steps=None, exporters=exporters, throttle_secs=0
        ),
    )
    found = len([path for path in exported if path])
    print("%d exports" % found)
    print("accuracy %.2f after %d steps" % (metrics["accuracy"], metrics["global_step"]))


if __name__ == "__main__":
    app.run(main)
