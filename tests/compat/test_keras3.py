"""Keras 3 objects in Estimators: the same numbers as Keras 2, or a refusal before training."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from estimator_io.errors import CompatibilityError
from tests.compat import reference
from tests.compat.conftest import needs_keras3

pytestmark = needs_keras3

ROWS = np.arange(32, dtype="float32").reshape(8, 4) / 10
LABELS = ROWS.sum(1, keepdims=True)


def input_fn(tf: Any) -> Callable[[], Any]:
    return lambda: tf.data.Dataset.from_tensor_slices((ROWS, LABELS)).batch(4).repeat()


def estimator(tf: Any, build: Callable[..., Any], train: Any = None, metrics: Any = None) -> Any:
    """Returns an Estimator whose output is `build(features, training)`."""

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        output = build(features, mode == tf.estimator.ModeKeys.TRAIN)
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tf.estimator.EstimatorSpec(mode, predictions={"y": output})
        loss = tf.reduce_mean((output - labels) ** 2)
        return tf.estimator.EstimatorSpec(
            mode,
            loss=loss,
            train_op=(train or descend)(tf, loss) if mode == "train" else None,
            eval_metric_ops=metrics(labels, output) if metrics and mode == "eval" else None,
        )

    return tf.estimator.Estimator(model_fn, **reference.options(tf))


def descend(tf: Any, loss: Any) -> Any:
    step = tf.compat.v1.train.get_global_step()
    return tf.compat.v1.train.GradientDescentOptimizer(0.001).minimize(loss, step)


def test_layers_train_evaluate_and_predict_with_the_trained_weights(tf: Any) -> None:
    layers = tf.keras.layers
    model = estimator(
        tf, lambda x, _: layers.Dense(1, kernel_initializer="ones")(layers.Dense(4)(x))
    )
    model.train(input_fn(tf), steps=3)
    first = model.evaluate(input_fn(tf), steps=2)
    model.train(input_fn(tf), steps=20)
    assert model.evaluate(input_fn(tf), steps=2)["loss"] < first["loss"]
    output = next(model.predict(input_fn(tf)))["y"]
    names = model.get_variable_names()
    weights = {name: model.get_variable_value(name) for name in names}
    hidden = ROWS[0] @ weights["dense_1/kernel"] + weights["dense_1/bias"]
    np.testing.assert_allclose(
        output, hidden @ weights["dense/kernel"] + weights["dense/bias"], rtol=1e-5
    )


def test_batch_statistics_are_those_of_keras_2_after_the_same_steps(tf: Any) -> None:
    def normalized(x: Any, training: bool) -> Any:
        layer = tf.keras.layers.BatchNormalization(momentum=0.5, name="norm")
        return tf.reduce_sum(layer(x, training=training), 1, keepdims=True)

    model = estimator(tf, normalized)
    model.train(input_fn(tf), steps=4)
    mean, variance = np.zeros(4), np.ones(4)
    for step in range(4):
        batch = ROWS[:4] if step % 2 == 0 else ROWS[4:]
        mean = 0.5 * mean + 0.5 * batch.mean(0)
        variance = 0.5 * variance + 0.5 * batch.var(0)
    np.testing.assert_allclose(model.get_variable_value("norm/moving_mean"), mean, rtol=1e-5)
    np.testing.assert_allclose(
        model.get_variable_value("norm/moving_variance"), variance, rtol=1e-5
    )


def test_evaluation_does_not_touch_batch_statistics(tf: Any) -> None:
    def normalized(x: Any, training: bool) -> Any:
        return tf.keras.layers.BatchNormalization(name="norm")(x, training=training)[:, :1]

    model = estimator(tf, normalized)
    model.train(input_fn(tf), steps=2)
    before = model.get_variable_value("norm/moving_mean")
    model.evaluate(input_fn(tf), steps=3)
    np.testing.assert_array_equal(model.get_variable_value("norm/moving_mean"), before)


def test_dropout_draws_another_mask_at_every_step(tf: Any) -> None:
    masks: list[Any] = []

    class Record(tf.compat.v1.train.SessionRunHook):
        def before_run(self, run_context: Any) -> Any:
            dropped = run_context.session.graph.get_tensor_by_name("dropped:0")
            return tf.compat.v1.train.SessionRunArgs(dropped)

        def after_run(self, run_context: Any, run_values: Any) -> None:
            masks.append(run_values.results == 0)

    def dropping(x: Any, training: bool) -> Any:
        hidden = tf.keras.layers.Dropout(0.5, seed=1)(tf.ones_like(x), training=training)
        return tf.keras.layers.Dense(1)(tf.identity(hidden, "dropped"))

    estimator(tf, dropping).train(input_fn(tf), steps=3, hooks=[Record()])
    assert not np.array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[1], masks[2])


def test_a_seed_is_counted_on_after_it_was_drawn_with(tf: Any) -> None:
    graphs: list[Any] = []

    def dropping(x: Any, training: bool) -> Any:
        graphs.append(x.graph)
        return tf.keras.layers.Dense(1)(tf.keras.layers.Dropout(0.5, seed=1)(x, training=training))

    estimator(tf, dropping).train(input_fn(tf), steps=1)
    operations = graphs[0].get_operations()
    seed = next(op for op in operations if op.type == "VarHandleOp" and "seed" in op.name)
    uses = seed.outputs[0].consumers()
    counted = next(op for op in uses if op.type == "AssignVariableOp" and op.control_inputs)
    made_before = operations[: operations.index(counted)]
    reads = [op for op in uses if op.type == "ReadVariableOp" and op in made_before]
    assert len(reads) > 1
    assert set(reads) <= set(counted.control_inputs)


def test_a_layer_that_changes_its_state_twice_a_step_is_refused(tf: Any) -> None:
    def twice(x: Any, training: bool) -> Any:
        layer = tf.keras.layers.BatchNormalization()
        return layer(layer(x, training=training), training=training)[:, :1]

    with pytest.raises(CompatibilityError, match="changed twice"):
        estimator(tf, twice).train(input_fn(tf), steps=1)


@pytest.mark.parametrize("built", [True, False])
def test_a_layer_made_outside_the_model_fn_is_refused_before_training(tf: Any, built: bool) -> None:
    layer = tf.keras.layers.Dense(1)
    if built:
        layer.build((None, 4))
    with pytest.raises(CompatibilityError, match="make it inside the model_fn"):
        estimator(tf, lambda x, _: layer(x)).train(input_fn(tf), steps=1)


def test_a_layer_without_weights_may_be_made_outside(tf: Any) -> None:
    scale = tf.keras.layers.Rescaling(0.5)
    model = estimator(tf, lambda x, _: tf.keras.layers.Dense(1)(scale(x)))
    model.train(input_fn(tf), steps=1)
    assert model.evaluate(input_fn(tf), steps=1)["global_step"] == 1


def test_automatic_names_outside_of_estimators_go_on_counting(tf: Any) -> None:
    first = tf.keras.layers.Dense(1).name
    estimator(tf, lambda x, _: tf.keras.layers.Dense(1)(x)).train(input_fn(tf), steps=1)
    following = tf.keras.layers.Dense(1).name
    number = int(first.partition("_")[2] or 0)
    assert following == f"dense_{number + 1}"


def test_keras_3_itself_goes_on_working_beside_an_estimator(tf: Any) -> None:
    tf.keras.utils.set_random_seed(1)
    model = tf.keras.Sequential(
        [
            tf.keras.layers.BatchNormalization(),
            tf.keras.layers.Dense(1),
            tf.keras.layers.Dropout(0.1),
        ]
    )
    model.compile(tf.keras.optimizers.Adam(0.1), "mse", metrics=["mae"])
    losses = model.fit(ROWS, LABELS, epochs=20, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert np.abs(np.asarray(model.layers[0].moving_mean)).sum() > 0
    assert int(model.optimizer.iterations) == 20


def test_metrics_give_what_the_metrics_of_tensorflow_1_give(tf: Any) -> None:
    def metrics(labels: Any, output: Any) -> Any:
        positive, score = labels > 5.0, tf.sigmoid(output - 5.0)
        keras = {
            "mae": tf.keras.metrics.MeanAbsoluteError(),
            "rmse": tf.keras.metrics.RootMeanSquaredError(),
        }
        for metric in keras.values():
            metric.update_state(labels, output)
        keras["precision"] = tf.keras.metrics.Precision()
        keras["precision"].update_state(tf.cast(positive, tf.float32), score)
        v1 = tf.compat.v1.metrics
        return {
            **keras,
            "v1_mae": v1.mean_absolute_error(labels, output),
            "v1_rmse": v1.root_mean_squared_error(labels, output),
            "v1_precision": v1.precision(positive, score > 0.5),
        }

    model = estimator(
        tf, lambda x, _: tf.keras.layers.Dense(1, kernel_initializer="ones")(x), metrics=metrics
    )
    model.train(input_fn(tf), steps=2)
    for _ in range(2):  # the counters start from zero at each evaluation
        results = model.evaluate(input_fn(tf), steps=2)
        for name in ("mae", "rmse", "precision"):
            assert results[name] == pytest.approx(results[f"v1_{name}"], rel=1e-6)
    assert not [name for name in model.get_variable_names() if "mean_absolute" in name]


def test_metrics_reach_add_metrics_too(tf: Any) -> None:
    def accuracy(labels: Any, predictions: Any) -> Any:
        metric = tf.keras.metrics.BinaryAccuracy()
        metric.update_state(labels, predictions["logistic"])
        return {"keras_accuracy": metric}

    model = tf.estimator.LinearClassifier(reference.columns(tf)[0], **reference.options(tf))
    model = tf.estimator.add_metrics(model, accuracy)
    rows = reference.input_fn(tf, reference.data()[1], 1)
    model.train(rows, steps=4)
    results = model.evaluate(rows)  # to the end of the data, where a counter may run ahead
    assert results["keras_accuracy"] == pytest.approx(results["accuracy"])


def test_a_metric_that_was_not_updated_is_refused(tf: Any) -> None:
    model = estimator(
        tf,
        lambda x, _: tf.keras.layers.Dense(1)(x),
        metrics=lambda labels, output: {"mae": tf.keras.metrics.MeanAbsoluteError()},
    )
    with pytest.raises(CompatibilityError, match="call its update_state"):
        model.evaluate(input_fn(tf), steps=1)


OPTIMIZERS = [
    ("SGD", {"learning_rate": 0.01, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"learning_rate": 0.01, "clipnorm": 0.5}),
    ("Adam", {"learning_rate": 0.02, "beta_1": 0.8, "amsgrad": True}),
    ("Adagrad", {"learning_rate": 0.05}),
    ("RMSprop", {"learning_rate": 0.01, "rho": 0.8}),
    ("Ftrl", {"learning_rate": 0.05, "l1_regularization_strength": 0.01}),
    ("Adamax", {"learning_rate": 0.02}),
    ("Nadam", {"learning_rate": 0.02}),
    ("Adadelta", {"learning_rate": 0.5}),
]


def regress(tf: Any, optimizer: Any) -> float:
    model = tf.estimator.DNNRegressor(
        [3], reference.columns(tf)[1], optimizer=optimizer, **reference.options(tf)
    )
    rows = reference.input_fn(tf, reference.data()[2], None)
    model.train(rows, steps=5)
    return float(model.evaluate(rows, steps=2)["average_loss"])


def test_optimizers_are_converted_with_their_hyperparameters(tf: Any) -> None:
    import tf_keras

    from estimator_io.compat.keras3.optimizers import convert

    for name, options in OPTIMIZERS:
        converted = convert(getattr(tf.keras.optimizers, name)(**options))
        expected = getattr(tf_keras.optimizers.legacy, name)(**options)
        assert type(converted) is type(expected)
        assert converted.clipnorm == expected.clipnorm
        for key, value in expected.get_config().items():
            found = converted.get_config()[key]
            assert found == value or math.isclose(found, value, rel_tol=1e-6), (name, key)


def test_a_canned_estimator_learns_alike_with_either_keras(tf: Any) -> None:
    import tf_keras

    keras3, keras2 = tf.keras.optimizers, tf_keras.optimizers.legacy
    expected = regress(tf, keras2.Adam(0.05))
    assert regress(tf, keras3.Adam(0.05)) == pytest.approx(expected, rel=1e-6)
    assert regress(tf, lambda: keras3.Adam(0.05)) == pytest.approx(expected, rel=1e-6)
    scheduled = regress(tf, lambda: keras3.SGD(keras3.schedules.ExponentialDecay(0.05, 2, 0.5)))
    schedule = tf_keras.optimizers.schedules.ExponentialDecay(0.05, 2, 0.5)
    assert scheduled == pytest.approx(regress(tf, keras2.SGD(schedule)), rel=1e-6)


@pytest.mark.parametrize(
    ("name", "options", "word"),
    [
        ("AdamW", {}, "no counterpart"),
        ("Lion", {}, "no counterpart"),
        ("Adam", {"weight_decay": 0.1}, "weight_decay=0.1"),
        ("Adam", {"use_ema": True}, "use_ema=True"),
        ("SGD", {"gradient_accumulation_steps": 4}, "gradient_accumulation_steps=4"),
    ],
)
def test_what_keras_2_cannot_optimize_is_refused(
    tf: Any, name: str, options: Any, word: str
) -> None:
    with pytest.raises(CompatibilityError, match=word):
        regress(tf, getattr(tf.keras.optimizers, name)(0.01, **options))


def own_steps(make: Callable[[], Any]) -> Callable[..., Any]:
    """Returns a training step that applies gradients itself and counts in the global step."""

    def train(tf: Any, loss: Any) -> Any:
        optimizer = make()
        optimizer.iterations = tf.compat.v1.train.get_or_create_global_step()
        variables = tf.compat.v1.trainable_variables()
        return optimizer.apply_gradients(zip(tf.gradients(loss, variables), variables, strict=True))

    return train


def test_an_optimizer_in_a_model_fn_gives_the_numbers_of_keras_2(tf: Any) -> None:
    def weight_after(train: Any) -> Any:
        model = estimator(
            tf, lambda x, _: tf.keras.layers.Dense(1, kernel_initializer="ones")(x), train
        )
        model.train(input_fn(tf), steps=5)
        assert model.get_variable_value("global_step") == 5
        return model.get_variable_value("dense/kernel")

    shared = tf.keras.optimizers.Adam(0.05)
    expected = weight_after(own_steps(lambda: tf.keras.optimizers.legacy.Adam(0.05)))
    np.testing.assert_allclose(
        weight_after(own_steps(lambda: tf.keras.optimizers.Adam(0.05))), expected, rtol=1e-6
    )
    np.testing.assert_allclose(weight_after(own_steps(lambda: shared)), expected, rtol=1e-6)
    assert not np.allclose(expected, 1.0)


def test_variables_of_layers_are_taken_by_optimizers_of_tensorflow_1(tf: Any) -> None:
    def build(x: Any, training: bool) -> Any:
        layer = tf.keras.layers.Dense(1, kernel_initializer="ones")
        output = layer(x)
        tf.compat.v1.get_default_graph().layer_variables = layer.trainable_variables
        return output

    def train(tf: Any, loss: Any) -> Any:
        variables = tf.compat.v1.get_default_graph().layer_variables
        optimizer = tf.compat.v1.train.AdamOptimizer(0.1)
        pairs = optimizer.compute_gradients(loss, var_list=variables)
        return optimizer.apply_gradients(pairs, tf.compat.v1.train.get_global_step())

    model = estimator(tf, build, train)
    model.train(input_fn(tf), steps=2)
    assert not np.allclose(model.get_variable_value("dense/kernel"), 1.0)


def test_model_to_estimator_refuses_a_keras_3_model_by_name(tf: Any) -> None:
    model = tf.keras.Sequential([tf.keras.Input((4,)), tf.keras.layers.Dense(1)], name="mine")
    model.compile("adam", "mse")
    from tensorflow.python.estimator.keras import model_to_estimator

    for convert in (tf.keras.estimator.model_to_estimator, model_to_estimator):
        with pytest.raises(CompatibilityError, match=r"import tf_keras.*model\.fit"):
            convert(model)


def test_names_that_only_estimators_take_are_back(tf: Any) -> None:
    assert tf.losses.Reduction.SUM == tf.keras.losses.Reduction.SUM == "sum"
    assert tf.keras.layers.DenseFeatures.__module__.startswith("tf_keras.")
    assert tf.keras.optimizers.legacy.Adam(0.1).learning_rate == 0.1
    column = tf.feature_column.numeric_column("x", (4,))
    model = estimator(
        tf,
        lambda x, _: tf.compat.v1.layers.dense(
            tf.keras.layers.DenseFeatures([column])({"x": x}), 1
        ),
    )
    model.train(input_fn(tf), steps=2)
    assert model.evaluate(input_fn(tf), steps=1)["global_step"] == 2


def test_a_bare_layer_can_still_be_made(tf: Any) -> None:
    layer = tf.keras.layers.Layer(name="bare", trainable=False)
    assert (layer.name, layer.trainable) == ("bare", False)
