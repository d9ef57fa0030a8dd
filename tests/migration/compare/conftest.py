"""A small Estimator, and Keras twins of it in which one thing is other than it should be."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from estimator_io import compat

v1 = tf.compat.v1
CLASSES = 3


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


@dataclasses.dataclass(frozen=True)
class Recipe:
    """What both sides are made from; a planted difference is another recipe for one of them."""

    optimizer: str = "sgd"
    rate: float = 0.1
    decay: float = 1.0  # of the rate, at every step
    epsilon: float = 1e-7
    accumulator: float = 0.1
    clip: float = 0.0
    l2: float = 0.0
    l2_in_training_alone: bool = False
    norm: bool = False
    norm_epsilon: float = 1e-3
    norm_momentum: float = 0.99
    update_ops: bool = True
    dropout: float = 0.0
    dropout_always: bool = False
    smoothing: float = 0.0
    reduction: str = "mean"
    from_logits: bool = True
    output: str = "logits"
    start: float = 1.0
    float32_betas: bool = True  # as TensorFlow's kernel computes with them


def v1_optimizer(recipe: Recipe) -> Any:
    rate: Any = recipe.rate
    if recipe.decay != 1:
        rate = v1.train.exponential_decay(rate, v1.train.get_global_step(), 1, recipe.decay)
    return {
        "sgd": lambda: v1.train.GradientDescentOptimizer(rate),
        "momentum": lambda: v1.train.MomentumOptimizer(rate, 0.9),
        "adam": lambda: v1.train.AdamOptimizer(rate, epsilon=recipe.epsilon),
        "adagrad": lambda: v1.train.AdagradOptimizer(rate, recipe.accumulator),
    }[recipe.optimizer]()


def model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> Any:
    recipe: Recipe = params["recipe"]
    training = mode == tf.estimator.ModeKeys.TRAIN
    initializer = v1.random_normal_initializer(stddev=0.3 * recipe.start, seed=4)
    x = v1.layers.dense(
        features["x"], 16, tf.nn.tanh, name="hidden", kernel_initializer=initializer
    )
    if recipe.norm:
        x = v1.layers.batch_normalization(
            x,
            training=training,
            name="norm",
            epsilon=recipe.norm_epsilon,
            momentum=recipe.norm_momentum,
        )
    if recipe.dropout and (training or recipe.dropout_always):
        x = tf.nn.dropout(x, recipe.dropout)
    logits = v1.layers.dense(x, CLASSES, name="logits", kernel_initializer=initializer)
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = {"logits": logits, "probabilities": tf.nn.softmax(logits)}
        return tf.estimator.EstimatorSpec(mode, {recipe.output: outputs[recipe.output]})
    onehot = tf.one_hot(labels, CLASSES)
    weights = features.get("weight", 1.0)
    reduction = {
        "mean": v1.losses.Reduction.SUM_BY_NONZERO_WEIGHTS,
        "sum": v1.losses.Reduction.SUM,
    }[recipe.reduction]
    loss = v1.losses.softmax_cross_entropy(
        onehot, logits, weights, label_smoothing=recipe.smoothing, reduction=reduction
    )
    if recipe.l2 and (training or not recipe.l2_in_training_alone):
        kernels = [v for v in v1.trainable_variables() if "kernel" in v.name]
        loss += 2 * recipe.l2 * tf.add_n([tf.nn.l2_loss(kernel) for kernel in kernels])
    metrics = {"accuracy": v1.metrics.accuracy(labels, tf.argmax(logits, 1))}
    optimizer = v1_optimizer(recipe)
    gradients, variables = zip(*optimizer.compute_gradients(loss), strict=True)
    if recipe.clip:
        gradients, _ = tf.clip_by_global_norm(gradients, recipe.clip)
    updates = v1.get_collection(v1.GraphKeys.UPDATE_OPS) if recipe.update_ops else []
    with tf.control_dependencies(updates):
        train_op = optimizer.apply_gradients(
            zip(gradients, variables, strict=True), v1.train.get_global_step()
        )
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op, eval_metric_ops=metrics)


def keras_optimizer(recipe: Recipe) -> Any:
    optimizers = tf.keras.optimizers
    rate: Any = recipe.rate
    if recipe.decay != 1:
        rate = optimizers.schedules.ExponentialDecay(rate, 1, recipe.decay)
    clip = {"global_clipnorm": recipe.clip} if recipe.clip else {}
    betas = [float(np.float32(b)) if recipe.float32_betas else b for b in (0.9, 0.999)]
    return {
        "sgd": lambda: optimizers.SGD(rate, **clip),
        "momentum": lambda: optimizers.SGD(rate, 0.9, **clip),
        "adam": lambda: optimizers.Adam(rate, *betas, epsilon=recipe.epsilon, **clip),
        "adagrad": lambda: optimizers.Adagrad(rate, recipe.accumulator, epsilon=1e-30, **clip),
        "rmsprop": lambda: optimizers.RMSprop(rate),
    }[recipe.optimizer]()


def twin(recipe: Recipe) -> Any:
    layers, keras = tf.keras.layers, tf.keras
    initializer = keras.initializers.RandomNormal(stddev=0.3 * recipe.start, seed=4)
    regularizer = keras.regularizers.L2(recipe.l2) if recipe.l2 else None
    x = inputs = keras.Input((5,), name="x")
    x = layers.Dense(
        16, "tanh", name="hidden", kernel_initializer=initializer, kernel_regularizer=regularizer
    )(x)
    if recipe.norm:
        norm = layers.BatchNormalization(
            epsilon=recipe.norm_epsilon, momentum=recipe.norm_momentum, name="norm"
        )
        x = norm(x)
    if recipe.dropout:
        x = (_DropsAlways if recipe.dropout_always else layers.Dropout)(recipe.dropout)(x)
    activation = "softmax" if recipe.output == "probabilities" else None
    outputs = layers.Dense(
        CLASSES,
        activation,
        name="logits",
        kernel_initializer=initializer,
        kernel_regularizer=regularizer,
    )(x)
    if activation and recipe.from_logits:
        outputs = layers.Rescaling(1.0)(outputs)  # or Keras finds the softmax and undoes it
    model = keras.Model({"x": inputs}, outputs)
    loss = keras.losses.CategoricalCrossentropy if recipe.smoothing else None
    reduction = {"mean": "sum_over_batch_size", "sum": "sum"}[recipe.reduction]
    if loss is None:
        chosen = keras.losses.SparseCategoricalCrossentropy(
            from_logits=recipe.from_logits, reduction=reduction
        )
    else:
        chosen = _smoothed(recipe)
    model.compile(keras_optimizer(recipe), chosen, metrics=["accuracy"])
    return model


class _DropsAlways(tf.keras.layers.Dropout):
    def call(self, inputs, training=None):
        return super().call(inputs, training=True)


def _smoothed(recipe: Recipe) -> Any:
    dense = tf.keras.losses.CategoricalCrossentropy(
        from_logits=recipe.from_logits, label_smoothing=recipe.smoothing
    )

    def loss(labels, outputs):
        return dense(tf.one_hot(tf.cast(tf.reshape(labels, [-1]), tf.int32), CLASSES), outputs)

    return loss


def input_fn(weighted: bool = False) -> Any:
    generator = np.random.default_rng(3)
    x = generator.normal(size=(64, 5)).astype(np.float32)
    features = {"x": x}
    if weighted:
        features["weight"] = (generator.random(64) > 0.4).astype(np.float32)
    labels = generator.integers(0, CLASSES, 64)
    return tf.data.Dataset.from_tensor_slices((features, labels)).batch(8).repeat()


def estimator(recipe: Recipe, folder: Any) -> Any:
    config = tf.estimator.RunConfig(folder and str(folder), tf_random_seed=5)
    return tf.estimator.Estimator(model_fn, config=config, params={"recipe": recipe})
