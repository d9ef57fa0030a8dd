"""Legacy model_fns, and the same training by the Estimator itself."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_io import compat

v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


OPTIMIZERS = {
    "adam": lambda: v1.train.AdamOptimizer(0.01),
    "adagrad": lambda: v1.train.AdagradOptimizer(0.05),
    "ftrl": lambda: v1.train.FtrlOptimizer(0.1, l1_regularization_strength=0.001),
    "momentum": lambda: v1.train.MomentumOptimizer(0.02, 0.9, use_nesterov=True),
}


def rich_model_fn(features, labels, mode, params):
    """Batch norm, dropout, L2, clipping, moving averages, metrics, summaries and a saver."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    x = v1.layers.dense(features["x"], 16, activation=tf.nn.relu, name="hidden")
    x = v1.layers.batch_normalization(x, training=training, name="norm")
    x = tf.nn.dropout(x, 0.3, seed=7) if training else x
    logits = v1.layers.dense(x, 3, name="logits")
    if mode == tf.estimator.ModeKeys.PREDICT:
        predictions = {"class": tf.argmax(logits, 1), "probabilities": tf.nn.softmax(logits)}
        outputs = {"serving_default": tf.estimator.export.PredictOutput(predictions)}
        return tf.estimator.EstimatorSpec(mode, predictions, export_outputs=outputs)
    weights = [v for v in v1.trainable_variables() if "kernel" in v.name]
    penalty = 0.01 * tf.add_n([tf.nn.l2_loss(w) for w in weights])
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits) + penalty
    metrics = {
        "accuracy": v1.metrics.accuracy(labels, tf.argmax(logits, 1)),
        "mean_logit": v1.metrics.mean(logits),
    }
    averages = tf.train.ExponentialMovingAverage(0.9)
    if mode == tf.estimator.ModeKeys.EVAL:
        saver = v1.train.Saver(averages.variables_to_restore())
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            eval_metric_ops=metrics,
            scaffold=v1.train.Scaffold(saver=saver) if params.get("averaged") else None,
        )
    v1.summary.scalar("penalty", penalty)
    optimizer = OPTIMIZERS[params["optimizer"]]()
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    clipped, _ = tf.clip_by_global_norm(gradients, 1.0)
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        step = optimizer.apply_gradients(
            zip(clipped, variables, strict=True), global_step=v1.train.get_global_step()
        )
    with tf.control_dependencies([step]):
        train_op = averages.apply(v1.trainable_variables())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


class Losses(v1.train.SessionRunHook):
    """The loss of every step, as the Estimator fetches it."""

    def __init__(self):
        self.values = []
        self.calls = []
        self._loss = None

    def begin(self):
        self.calls.append("begin")
        self._loss = v1.get_collection(v1.GraphKeys.LOSSES)[0]

    def after_create_session(self, session, coord):
        self.calls.append("after_create_session")

    def before_run(self, run_context):
        return v1.train.SessionRunArgs(self._loss)

    def after_run(self, run_context, run_values):
        self.values.append(float(run_values.results))

    def end(self, session):
        self.calls.append("end")


def rows(size=60, seed=3):
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(size, 5)).astype(np.float32)
    return {"x": x}, generator.integers(0, 3, size)


def dataset(size=60, batch=8, repeat=True):
    data = tf.data.Dataset.from_tensor_slices(rows(size)).batch(batch)
    return data.repeat() if repeat else data


def config(folder, **kwargs):
    return tf.estimator.RunConfig(model_dir=str(folder), tf_random_seed=5, **kwargs)


def slope_model_fn(features, labels, mode):
    """y = slope * x; the loss is the error of the slope."""
    slope = v1.get_variable("slope", [], initializer=v1.zeros_initializer())
    predictions = slope * features
    if mode == "infer":
        return tf.estimator.EstimatorSpec(mode, predictions)
    loss = v1.losses.mean_squared_error(labels, predictions)
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, global_step=v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def steps_of_slope(rows):
    """The slopes and losses of gradient descent, computed by hand for x = 1, y = 2."""
    slope, losses = 0.0, []
    for _ in range(rows):
        losses.append((2 - slope) ** 2)
        slope += 0.1 * 2 * (2 - slope)
    return slope, losses
