"""Makes, or is asked for, the numbers that every TensorFlow has to reproduce.

Each case trains, evaluates and predicts with seeded weights on fixed data, and returns plain
numbers. The stored values come from TensorFlow 2.15.1 with its own tf.estimator, on CPU::

    python -m tests.compat.reference   # writes tests/compat/reference.json
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

STORED = Path(__file__).with_name("reference.json")
ROWS = 64
STEPS = 12

Case = Callable[[Any], dict[str, Any]]
CASES: dict[str, Case] = {}


def case(function: Case) -> Case:
    CASES[function.__name__.strip("_")] = function
    return function


def data() -> tuple[dict[str, np.ndarray], np.ndarray, np.ndarray]:
    """Returns features "x" [64, 3] and "word" [64], a class label and a number to regress."""
    random = np.random.RandomState(7)
    x = random.randn(ROWS, 3).astype("float32")
    word = np.array([b"ash", b"elm", b"oak", b"yew"])[random.randint(4, size=ROWS)]
    number = (x @ np.array([1.0, -2.0, 0.5], "float32") + (word == b"oak"))[:, None]
    return {"x": x, "word": word}, (number > 0).astype("int64"), number.astype("float32")


def input_fn(tf: Any, labels: np.ndarray, repeat: int | None = None) -> Callable[[], Any]:
    features, _, _ = data()
    return lambda: (
        tf.data.Dataset.from_tensor_slices((features, labels))
        .repeat(repeat)
        .batch(16, drop_remainder=True)
    )


def columns(tf: Any) -> tuple[list[Any], list[Any]]:
    """Returns sparse columns for linear models and dense ones for networks."""
    column = tf.feature_column
    word = column.categorical_column_with_vocabulary_list(
        "word", [b"ash", b"elm", b"oak"], num_oov_buckets=1
    )
    return (
        [column.numeric_column("x", (3,)), word],
        [column.numeric_column("x", (3,)), column.embedding_column(word, 2)],
    )


def run(tf: Any, estimator: Any, labels: np.ndarray, **evaluate: Any) -> dict[str, Any]:
    """Trains, evaluates and predicts; returns the metrics and the first predictions."""
    estimator.train(input_fn(tf, labels, None), steps=STEPS)
    results = {
        key: float(value) for key, value in estimator.evaluate(input_fn(tf, labels, 1)).items()
    }
    first = next(iter(estimator.predict(input_fn(tf, labels, 1))))
    for key, value in first.items():
        if np.asarray(value).dtype.kind in "fi":
            results[f"prediction/{key}"] = np.asarray(value, "float64").ravel().tolist()
    return results


def options(tf: Any) -> dict[str, Any]:
    config = tf.estimator.RunConfig(tf_random_seed=11, save_summary_steps=None)
    return {"model_dir": tempfile.mkdtemp(), "config": config}


def model_fn(tf: Any, optimizer: Callable[[], Any]) -> Callable[..., Any]:
    """Returns a model_fn in TensorFlow 1's own words: one hidden layer, seeded."""
    v1 = tf.compat.v1

    def seeded(features: Any, labels: Any, mode: str) -> Any:
        start = v1.glorot_uniform_initializer(seed=3)
        hidden = tf.tanh(features["x"] @ v1.get_variable("hidden", [3, 5], initializer=start))
        output = hidden @ v1.get_variable("output", [5, 1], initializer=start)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"y": output})
        loss = v1.losses.mean_squared_error(labels, output)
        train_op = optimizer().minimize(loss, v1.train.get_or_create_global_step())
        metrics = {"mae": v1.metrics.mean_absolute_error(labels, output)}
        return tf.estimator.EstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metric_ops=metrics
        )

    return seeded


@case
def custom_model_fn(tf: Any) -> dict[str, Any]:
    adam = model_fn(tf, lambda: tf.compat.v1.train.AdamOptimizer(0.05))
    return run(tf, tf.estimator.Estimator(adam, **options(tf)), data()[2])


@case
def custom_model_fn_with_ftrl(tf: Any) -> dict[str, Any]:
    ftrl = model_fn(tf, lambda: tf.compat.v1.train.FtrlOptimizer(0.1))
    return run(tf, tf.compat.v1.estimator.Estimator(ftrl, **options(tf)), data()[2])


def canned(version: int, family: str, kind: str) -> None:
    def train(tf: Any) -> dict[str, Any]:
        api = tf.estimator if version == 2 else tf.compat.v1.estimator
        sparse, dense = columns(tf)
        arguments: dict[str, Any] = {
            "Baseline": {},
            "DNN": {"hidden_units": [4], "feature_columns": dense},
            "Linear": {"feature_columns": sparse},
            "DNNLinearCombined": {
                "dnn_hidden_units": [4],
                "dnn_feature_columns": dense,
                "linear_feature_columns": sparse,
            },
        }[family]
        if kind == "Estimator":
            head = tf.estimator.BinaryClassHead() if version == 2 else None
            arguments = {**arguments, "head": head or v1_head(api)}
        estimator = getattr(api, family + kind)(**arguments, **options(tf))
        return run(tf, estimator, data()[2 if kind == "Regressor" else 1])

    CASES[f"v{version}_{family}{kind}"] = train


def v1_head(api: Any) -> Any:
    from tensorflow_estimator.python.estimator.canned import head

    return head._binary_logistic_head_with_sigmoid_cross_entropy_loss()


for _version in (1, 2):
    for _family in ("Baseline", "DNN", "DNNLinearCombined", "Linear"):
        for _kind in ("Classifier", "Estimator", "Regressor"):
            canned(_version, _family, _kind)


@case
def exported_model(tf: Any) -> dict[str, Any]:
    sparse, dense = columns(tf)
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        dnn_hidden_units=[4],
        dnn_feature_columns=dense,
        linear_feature_columns=sparse,
        **options(tf),
    )
    features, classes, _ = data()
    estimator.train(input_fn(tf, classes, None), steps=STEPS)
    receiver = tf.estimator.export.build_raw_serving_input_receiver_fn(
        {key: tf.constant(value[:1]) for key, value in features.items()}
    )
    path = estimator.export_saved_model(tempfile.mkdtemp(), receiver)
    signature = tf.saved_model.load(os.fsdecode(path)).signatures["predict"]
    outputs = signature(x=tf.constant(features["x"][:4]), word=tf.constant(features["word"][:4]))
    return {"probabilities": outputs["probabilities"].numpy().ravel().tolist()}


@case
def warm_started_model(tf: Any) -> dict[str, Any]:
    first = tf.estimator.LinearRegressor(columns(tf)[0], **options(tf))
    first.train(input_fn(tf, data()[2], None), steps=STEPS)
    settings = tf.estimator.WarmStartSettings(first.model_dir, vars_to_warm_start=".*")
    second = tf.estimator.LinearRegressor(columns(tf)[0], warm_start_from=settings, **options(tf))
    return run(tf, second, data()[2])


@case
def kmeans(tf: Any) -> dict[str, Any]:
    clusters = tf.compat.v1.estimator.experimental.KMeans(
        3, initial_clusters=data()[0]["x"][:3], use_mini_batch=False, **options(tf)
    )
    rows = {"x": data()[0]["x"]}
    clusters.train(lambda: tf.data.Dataset.from_tensors(rows).repeat(), steps=5)
    return {
        "score": float(clusters.score(lambda: tf.data.Dataset.from_tensors(rows))),
        "centers": np.asarray(clusters.cluster_centers()).ravel().tolist(),
    }


def keras2(tf: Any) -> Any:
    """Returns the Keras 2 of this TensorFlow."""
    if tf.__version__.startswith("2.15."):
        return tf.keras
    import tf_keras

    return tf_keras


@case
def rnn_classifier(tf: Any) -> dict[str, Any]:
    # Keras draws these weights from Python's random numbers, whatever tf_random_seed is.
    keras2(tf).utils.set_random_seed(5)
    column = tf.feature_column.sequence_numeric_column("steps")
    estimator = tf.estimator.experimental.RNNClassifier([column], units=[3], **options(tf))
    values = data()[0]["x"]

    def sequences() -> Any:
        rows = tf.data.Dataset.from_tensor_slices((values, data()[1])).batch(16)
        return rows.map(lambda x, y: ({"steps": tf.sparse.from_dense(x)}, y))

    estimator.train(lambda: sequences().repeat(), steps=STEPS)
    return {key: float(value) for key, value in estimator.evaluate(sequences).items()}


@case
def keras_2_model(tf: Any) -> dict[str, Any]:
    keras = keras2(tf)
    start = keras.initializers.Constant(0.5)
    model = keras.Sequential([keras.layers.Dense(1, kernel_initializer=start, input_shape=(3,))])
    model.compile(keras.optimizers.legacy.SGD(0.1), "mse", metrics=["mae"])
    estimator = keras.estimator.model_to_estimator(model, **options(tf))
    rows = tf.data.Dataset.from_tensor_slices

    def matrix() -> Any:
        return rows((data()[0]["x"], data()[2])).batch(16)

    estimator.train(lambda: matrix().repeat(), steps=STEPS)
    return {key: float(value) for key, value in estimator.evaluate(matrix).items()}


@case
def v1_layers(tf: Any) -> dict[str, Any]:
    layers = tf.compat.v1.layers

    def normalized(features: Any, labels: Any, mode: str) -> Any:
        training = mode == tf.estimator.ModeKeys.TRAIN
        start = tf.compat.v1.constant_initializer(0.5)
        hidden = layers.dense(features["x"], 2, kernel_initializer=start)
        hidden = layers.batch_normalization(hidden, training=training, momentum=0.5)
        output = layers.dense(hidden, 1, kernel_initializer=start)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"y": output})
        loss = tf.compat.v1.losses.mean_squared_error(labels, output)
        updates = tf.compat.v1.get_collection(tf.compat.v1.GraphKeys.UPDATE_OPS)
        with tf.control_dependencies(updates):
            train_op = tf.compat.v1.train.GradientDescentOptimizer(0.1).minimize(
                loss, tf.compat.v1.train.get_or_create_global_step()
            )
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

    return run(tf, tf.estimator.Estimator(normalized, **options(tf)), data()[2])


@case
def linear_sdca(tf: Any) -> dict[str, Any]:
    optimizer = tf.estimator.experimental.LinearSDCA("id", symmetric_l2_regularization=1.0)
    column = tf.feature_column.numeric_column("x", (3,))
    estimator = tf.estimator.LinearClassifier([column], optimizer=optimizer, **options(tf))
    features = {"x": data()[0]["x"], "id": np.array([str(row).encode() for row in range(ROWS)])}

    def whole() -> Any:
        return tf.data.Dataset.from_tensors((features, data()[1]))

    # Threads race within a pass; only the optimum they meet at is the same every time.
    estimator.train(lambda: whole().repeat(), steps=120)
    results = estimator.evaluate(whole)
    return {"loss": float(results["loss"]), "accuracy": float(results["accuracy"])}


def main() -> None:
    import tensorflow as tf

    values = {name: CASES[name](tf) for name in sorted(CASES)}
    STORED.write_text(json.dumps({"tensorflow": tf.__version__, "values": values}, indent=1) + "\n")


if __name__ == "__main__":
    main()
