"""What tf.estimator offers beyond training: exporters, hooks, heads and inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.compat import reference


def receiver(tf: Any) -> Any:
    features = {key: tf.constant(value[:1]) for key, value in reference.data()[0].items()}
    return tf.estimator.export.build_raw_serving_input_receiver_fn(features)


@pytest.fixture(scope="module")
def trained(tf: Any) -> Any:
    """An Estimator that train_and_evaluate has trained, evaluated and exported."""
    model = tf.estimator.LinearClassifier(reference.columns(tf)[0], **reference.options(tf))
    exporters = [
        tf.estimator.BestExporter("best", receiver(tf), exports_to_keep=1),
        tf.estimator.LatestExporter("latest", receiver(tf)),
        tf.estimator.FinalExporter("final", receiver(tf)),
    ]
    rows = reference.input_fn(tf, reference.data()[1], None)
    once = reference.input_fn(tf, reference.data()[1], 1)
    results, exports = tf.estimator.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(rows, max_steps=20),
        tf.estimator.EvalSpec(once, steps=None, exporters=exporters),
    )
    return model, results, exports


def test_train_and_evaluate_trains_to_the_last_step_and_evaluates(trained: Any) -> None:
    _, results, exports = trained
    assert results["global_step"] == 20
    assert results["accuracy"] > 0.6
    assert len(exports) == 3


@pytest.mark.parametrize("exporter", ["best", "latest", "final"])
def test_each_exporter_writes_a_model_that_predicts_as_the_estimator(
    tf: Any, trained: Any, exporter: str
) -> None:
    model, _, _ = trained
    folder = Path(model.model_dir) / "export" / exporter
    (version,) = [path for path in folder.iterdir() if path.is_dir()]
    signature = tf.saved_model.load(str(version)).signatures["predict"]
    features, classes, _ = reference.data()
    outputs = signature(x=tf.constant(features["x"]), word=tf.constant(features["word"]))
    expected = [row["logits"] for row in model.predict(reference.input_fn(tf, classes, 1))]
    np.testing.assert_allclose(outputs["logits"].numpy(), expected, rtol=1e-5)


def test_an_early_stopping_hook_ends_training_once_its_condition_holds(tf: Any) -> None:
    model = tf.estimator.LinearRegressor(reference.columns(tf)[0], **reference.options(tf))
    once = reference.input_fn(tf, reference.data()[2], 1)
    hook = tf.estimator.experimental.stop_if_lower_hook(
        model, "loss", threshold=1e6, run_every_secs=None, run_every_steps=1
    )
    model.train(once, steps=2, hooks=[hook])
    model.evaluate(once)
    model.train(reference.input_fn(tf, reference.data()[2], None), steps=50, hooks=[hook])
    assert 2 <= model.get_variable_value("global_step") < 50


def test_hooks_see_the_session_and_evaluate_in_memory(tf: Any) -> None:
    model = tf.estimator.LinearRegressor(reference.columns(tf)[0], **reference.options(tf))
    once = reference.input_fn(tf, reference.data()[2], 1)
    memory = tf.estimator.experimental.InMemoryEvaluatorHook(model, once, every_n_iter=2)
    logging = tf.estimator.LoggingTensorHook({"step": "global_step"}, every_n_iter=1)
    model.train(once, hooks=[memory, logging])
    assert list(Path(model.eval_dir()).glob("events.*"))


@pytest.mark.parametrize("head", ["multi_class", "multi_label", "poisson", "multi"])
def test_heads_train_in_canned_estimators(tf: Any, head: str) -> None:
    api = tf.estimator
    features, classes, _ = reference.data()
    both = np.concatenate([classes, 1 - classes], 1)
    heads = {
        "multi_class": (lambda: api.MultiClassHead(3), classes),
        "multi_label": (lambda: api.MultiLabelHead(2), both),
        "poisson": (api.PoissonRegressionHead, classes.astype("float32")),
        "multi": (
            lambda: api.MultiHead([api.BinaryClassHead(name="a"), api.RegressionHead(name="b")]),
            None,
        ),
    }
    make, labels = heads[head]
    model = api.DNNEstimator(make(), [4], reference.columns(tf)[1], **reference.options(tf))

    def rows() -> Any:
        named = {"a": classes, "b": classes.astype("float32")} if labels is None else labels
        return tf.data.Dataset.from_tensor_slices((features, named)).batch(16)

    model.train(lambda: rows().repeat(), steps=20)
    first = model.evaluate(rows)["loss"]
    model.train(lambda: rows().repeat(), steps=60)
    assert model.evaluate(rows)["loss"] < first


def test_numpy_and_pandas_style_inputs_of_version_1_feed_an_estimator(tf: Any) -> None:
    features, _, labels = reference.data()
    inputs = tf.compat.v1.estimator.inputs.numpy_input_fn(
        features, labels, batch_size=16, num_epochs=2, shuffle=False
    )
    model = tf.compat.v1.estimator.LinearRegressor(
        reference.columns(tf)[0], **reference.options(tf)
    )
    model.train(inputs)
    assert model.get_variable_value("global_step") == 8
    assert model.evaluate(inputs)["global_step"] == 8


def test_training_goes_on_from_the_checkpoint_of_another_estimator(tf: Any) -> None:
    options = reference.options(tf)
    rows = reference.input_fn(tf, reference.data()[2], None)
    for step in (5, 10):
        model = tf.estimator.DNNRegressor([4], reference.columns(tf)[1], **options)
        model.train(rows, max_steps=step)
        assert model.get_variable_value("global_step") == step
    assert model.latest_checkpoint().endswith("model.ckpt-10")


def test_an_input_fn_gets_mode_params_and_config(tf: Any) -> None:
    seen: list[Any] = []

    def input_fn(mode: Any, params: Any, config: Any) -> Any:
        seen.append((mode, params["width"], config.tf_random_seed))
        return reference.input_fn(tf, reference.data()[2], 1)()

    model_fn = reference.model_fn(tf, lambda: tf.compat.v1.train.AdamOptimizer(0.1))
    model = tf.estimator.Estimator(
        lambda features, labels, mode, params: model_fn(features, labels, mode),
        params={"width": 3},
        **reference.options(tf),
    )
    model.train(input_fn)
    model.evaluate(input_fn)
    next(iter(model.predict(input_fn)))
    assert seen == [("train", 3, 11), ("eval", 3, 11), ("infer", 3, 11)]
