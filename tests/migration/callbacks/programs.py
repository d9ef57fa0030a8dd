"""One small training, by the Estimator, by a Keras model and by a ModelFnModel.

The line y = slope * x + height is fitted to y = 2x by gradient descent on batches of two rows, so
that the losses of the three can be compared step by step.
"""

import numpy as np
import tensorflow as tf
from tensorflow.python.training import training_util

import migration
from migration.callbacks.session_run import SessionRunCallback

v1 = tf.compat.v1

RATE = 0.01
STEPS = 12
# What the old graph calls its tensors, and what Keras calls them.
TENSORS = {"slope": "line/kernel", "rate": "learning_rate"}


def dataset(bad_batch=None):
    """Batches of two rows, endless; `bad_batch` is the one whose label is NaN."""
    x = np.arange(8, dtype=np.float32)[:, None]
    y = 2 * x
    if bad_batch is not None:
        y[2 * bad_batch] = np.nan
    return tf.data.Dataset.from_tensor_slices((x, y)).batch(2).repeat()


def model_fn(features, labels, mode):
    slope = v1.get_variable("line/kernel", [1, 1], initializer=v1.zeros_initializer())
    height = v1.get_variable("line/bias", [1], initializer=v1.zeros_initializer())
    tf.identity(slope, name="slope")
    rate = v1.placeholder_with_default(np.float32(RATE), [], name="rate")
    error = tf.matmul(features, slope) + height - labels
    loss = tf.reduce_mean(tf.square(error), name="loss")
    v1.summary.scalar("loss", loss)
    optimizer, step = v1.train.GradientDescentOptimizer(rate), v1.train.get_global_step()
    # A hook that fetches the global step may otherwise see it before or after its update.
    reads = [step._graph_element, training_util._get_or_create_global_step_read()]
    with tf.control_dependencies(reads):
        train_op = optimizer.minimize(tf.identity(loss), global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def config(folder):
    # Its own checkpoints, summaries and counters are out of the way of the hooks under test.
    return tf.estimator.RunConfig(
        model_dir=str(folder),
        save_summary_steps=None,
        save_checkpoints_steps=None,
        log_step_count_steps=None,
    )


def keras_model(**compile_options):
    line = tf.keras.layers.Dense(1, kernel_initializer="zeros", name="line")
    model = tf.keras.Sequential([tf.keras.Input((1,)), line])
    model.compile(tf.keras.optimizers.SGD(RATE), "mse", **compile_options)
    return model


class Last(v1.train.SessionRunHook):
    """The global step at the end."""

    step = None

    def begin(self):
        self._step = v1.train.get_global_step()

    def end(self, session):
        self.step = int(session.run(self._step))


def under_estimator(hooks, folder, bad_batch=None):
    """Trains; returns the global step at the end."""
    estimator = tf.estimator.Estimator(model_fn, config=config(folder))
    last = Last()
    estimator.train(lambda: dataset(bad_batch), hooks=[*hooks, last], max_steps=STEPS)
    return last.step


def fit(model, callbacks, bad_batch=None):
    data = dataset(bad_batch)
    model.fit(data, steps_per_epoch=STEPS // 2, epochs=2, verbose=0, callbacks=callbacks)


def under_keras(hooks, folder, bad_batch=None, general=False):
    """The same by fit of a Keras model; `general` runs TensorFlow's hooks as if they were own."""
    del folder
    model = keras_model()
    make = SessionRunCallback if general else migration.to_callback
    callbacks = [make(hook, tensors=TENSORS) for hook in hooks]
    fit(model, callbacks, bad_batch)
    return int(model.optimizer.iterations.numpy())


def under_keras_in_a_graph(hooks, folder, bad_batch=None):
    return under_keras(hooks, folder, bad_batch, general=True)


def under_model_fn_model(hooks, folder, bad_batch=None):
    """The same by fit of the model_fn itself."""
    model, last = migration.ModelFnModel(model_fn, config=config(folder)), Last()
    fit(model, [migration.to_callback(hook) for hook in (*hooks, last)], bad_batch)
    return last.step


WAYS = {
    "keras": under_keras,
    "keras, in a graph": under_keras_in_a_graph,
    "model_fn": under_model_fn_model,
}
