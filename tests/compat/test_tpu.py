"""TPUEstimator without a TPU, and the configuration classes that TPU programs build."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from estimator_io.compat.rebuilt import tpu_hardware
from estimator_io.errors import CompatibilityError
from tests.compat import reference
from tests.compat.conftest import OWN_ESTIMATOR

PARAMETERS = {
    "AdagradParameters": {"initial_accumulator": 0.1},
    "AdamParameters": {"beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8, "lazy_adam": True},
    "FtrlParameters": {"learning_rate_power": -0.5, "initial_accumulator_value": 0.1, "beta": 0},
    "StochasticGradientDescentParameters": {},
}


@pytest.fixture(params=["rebuilt", "original"] if OWN_ESTIMATOR else ["rebuilt"])
def tpu_embedding(request: pytest.FixtureRequest, tf: Any) -> Any:
    if request.param == "original":
        from tensorflow.python.tpu import tpu_embedding
    else:
        from estimator_io.compat.rebuilt import tpu_embedding
    return tpu_embedding


def test_tpu_estimator_trains_evaluates_and_predicts_without_a_tpu(tf: Any, tmp_path: Any) -> None:
    tpu = tf.compat.v1.estimator.tpu

    def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
        weight = tf.compat.v1.get_variable("w", [3, 1], initializer=tf.zeros_initializer)
        output = features["x"] @ weight
        if mode == tf.estimator.ModeKeys.PREDICT:
            return tpu.TPUEstimatorSpec(mode, predictions={"y": output})
        loss = tf.reduce_mean((output - labels) ** 2) + 0.0 * params["batch_size"]
        optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.1)
        step = tf.compat.v1.train.get_or_create_global_step()
        mae = tf.compat.v1.metrics.mean_absolute_error
        return tpu.TPUEstimatorSpec(
            mode,
            loss=loss,
            train_op=optimizer.minimize(loss, step),
            eval_metrics=(lambda labels, output: {"mae": mae(labels, output)}, [labels, output]),
        )

    def input_fn(params: Any) -> Any:
        features, _, labels = reference.data()
        rows = tf.data.Dataset.from_tensor_slices(({"x": features["x"]}, labels)).repeat()
        return rows.batch(params["batch_size"], drop_remainder=True)

    config = tpu.RunConfig(model_dir=str(tmp_path), tpu_config=tpu.TPUConfig(iterations_per_loop=2))
    estimator = tpu.TPUEstimator(
        model_fn,
        config=config,
        use_tpu=False,
        train_batch_size=16,
        eval_batch_size=16,
        predict_batch_size=16,
    )
    estimator.train(input_fn, steps=40)
    results = estimator.evaluate(input_fn, steps=4)
    assert results["global_step"] == 40
    assert results["mae"] < 0.7
    weight = estimator.get_variable_value("w")[:, 0]
    assert weight == pytest.approx([1.0, -2.0, 0.5], abs=0.3)
    assert next(estimator.predict(input_fn))["y"].shape == (1,)


@pytest.mark.parametrize("name", PARAMETERS)
def test_embedding_parameters_have_the_defaults_of_2_15(
    tf: Any, tpu_embedding: Any, name: str
) -> None:
    parameters = getattr(tpu_embedding, name)(0.5)
    assert parameters.learning_rate == 0.5
    assert parameters.use_gradient_accumulation is True
    assert parameters.clip_weight_min is parameters.clip_gradient_max is None
    for field, value in PARAMETERS[name].items():
        assert getattr(parameters, field) == value


@pytest.mark.parametrize(
    ("name", "positional"),
    [
        ("AdagradParameters", ["initial_accumulator", "use_gradient_accumulation"]),
        ("AdamParameters", ["beta1", "beta2", "epsilon", "lazy_adam", "sum_inside_sqrt"]),
        ("MomentumParameters", ["momentum", "use_nesterov", "use_gradient_accumulation"]),
        ("RMSPropParameters", ["rho", "momentum", "epsilon", "use_gradient_accumulation"]),
        ("ProximalAdagradParameters", ["initial_accumulator", "l1_regularization_strength"]),
    ],
)
def test_embedding_parameters_take_their_arguments_in_the_old_order(
    tf: Any, tpu_embedding: Any, name: str, positional: list[str]
) -> None:
    arguments = list(inspect.signature(getattr(tpu_embedding, name)).parameters)
    assert arguments[: len(positional) + 1] == ["learning_rate", *positional]
    assert arguments[-2:] == ["clip_gradient_min", "clip_gradient_max"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("AdamParameters", {"beta1": 1.5}),
        ("AdamParameters", {"epsilon": 0.0}),
        ("AdamParameters", {"use_gradient_accumulation": False, "lazy_adam": False}),
        ("AdagradParameters", {"initial_accumulator": 0.0}),
        ("FtrlParameters", {"learning_rate_power": 1.0}),
        ("FtrlParameters", {"l1_regularization_strength": -1.0}),
        (
            "StochasticGradientDescentParameters",
            {"use_gradient_accumulation": False, "clip_gradient_min": -1.0},
        ),
    ],
)
def test_impossible_embedding_parameters_are_refused(
    tf: Any, tpu_embedding: Any, name: str, arguments: Any
) -> None:
    with pytest.raises(ValueError):
        getattr(tpu_embedding, name)(0.5, **arguments)


@pytest.mark.parametrize(
    "arguments",
    [
        {"vocabulary_size": 0, "dimension": 1},
        {"vocabulary_size": 1, "dimension": 0},
        {"vocabulary_size": 1, "dimension": 1, "combiner": "max"},
        {"vocabulary_size": 1, "dimension": 1, "initializer": 3},
        {"vocabulary_size": 1, "dimension": 1, "learning_rate": 1.0, "learning_rate_fn": "f"},
        {"vocabulary_size": 1, "dimension": 1, "optimization_parameters": "adam"},
    ],
)
def test_impossible_tables_are_refused(tf: Any, tpu_embedding: Any, arguments: Any) -> None:
    with pytest.raises(ValueError):
        tpu_embedding.TableConfig(**arguments)


def test_a_table_and_a_feature_are_described_as_before(tf: Any, tpu_embedding: Any) -> None:
    table = tpu_embedding.TableConfig(10, 4)
    assert table.combiner == "mean"
    assert callable(table.initializer)
    assert tpu_embedding.FeatureConfig("table") == ("table", 0, None)
    with pytest.raises(ValueError):
        tpu_embedding.FeatureConfig("table", max_sequence_length=-1)
    ids = tf.sparse.from_dense([[1, 0], [0, 2]])
    data = tpu_embedding.EnqueueData.from_sparse_tensor(ids)
    assert data.embedding_indices is ids.values
    assert data.aggregation_weights is None


def test_the_v1_api_offers_the_embedding_parameters(tf: Any) -> None:
    experimental = tf.compat.v1.tpu.experimental
    for name in ("AdagradParameters", "AdamParameters", "StochasticGradientDescentParameters"):
        assert callable(getattr(experimental, name))
    specification = tf.compat.v1.estimator.tpu.experimental.EmbeddingConfigSpec(
        feature_columns=[
            tf.compat.v1.tpu.experimental.embedding_column(
                tf.feature_column.categorical_column_with_identity("id", 10), dimension=2
            )
        ],
        optimization_parameters=experimental.AdagradParameters(0.1),
    )
    assert specification.optimization_parameters.initial_accumulator == 0.1


def test_what_needs_a_tpu_says_how_to_go_on_without_one() -> None:
    with pytest.raises(CompatibilityError, match=r"use_tpu=False.*tensorflow==2\.15\.1"):
        tpu_hardware.refuse("TPUEmbedding")


def test_rebuilt_tpu_classes_refuse_to_be_built(tf: Any) -> None:
    from estimator_io.compat.rebuilt import session_support, tpu_embedding, tpu_embedding_gradient

    for call in (
        lambda: tpu_embedding.TPUEmbedding({}, {}, 8, tpu_embedding.TRAINING),
        lambda: session_support.GracefulShutdownHook("prefix"),
        lambda: session_support.start_worker_watchdog(None),
        lambda: tpu_embedding_gradient.create_dummy_table_variables(None),
    ):
        with pytest.raises(CompatibilityError, match="needs TPU support"):
            call()
