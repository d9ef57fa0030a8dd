"""Tabular sources under an Estimator: batches reach it, and bad lines stop it by name."""

import pytest
import tensorflow as tf

import estimator_io
from tests.conftest import ROOT

ADULT = {
    "columns": [f"c{at}" for at in range(15)],
    "label": "c14",
    "classes": {"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1},
    "select": ["c0", "c4", "c12"],
    "na_values": ["?"],
    "comment": "|",
    "batch_size": 50,
    "seed": 1,
}


def model_fn(features, labels, mode):
    v1 = tf.compat.v1
    rows = tf.stack([tf.cast(features[name], tf.float32) / 100 for name in ("c0", "c4", "c12")], 1)
    weights = v1.get_variable("w", [3, 1])
    logits = tf.matmul(rows, weights)[:, 0]
    loss = v1.losses.sigmoid_cross_entropy(labels, logits)
    step = v1.train.get_or_create_global_step()
    train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    seen = {"rows": v1.metrics.mean(tf.ones_like(logits)), "rich": v1.metrics.mean(labels)}
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train, eval_metric_ops=seen)


@pytest.fixture
def estimator(tmp_path):
    if not hasattr(tf, "estimator"):
        estimator_io.compat.install()
    return tf.estimator.Estimator(model_fn, str(tmp_path / "model"))


@pytest.mark.parametrize("stream", [False, True])
def test_an_estimator_trains_and_evaluates_on_the_adult_files(estimator, stream):
    folder = ROOT / "examples" / "data" / "adult"
    train = estimator_io.csv_input_fn(folder / "adult.data", stream=stream, **ADULT)
    test = estimator_io.csv_input_fn(folder / "adult.test", stream=stream, **ADULT)
    estimator.train(train, steps=10)
    found = estimator.evaluate(test)
    with open(folder / "adult.test") as file:
        lines = file.read().splitlines()[1:]
    rich = sum(line.endswith(">50K.") for line in lines) / len(lines)
    assert found["global_step"] == 10
    assert found["rich"] == pytest.approx(rich)


def test_a_bad_line_stops_training_by_its_name(estimator, tmp_path):
    path = tmp_path / "bad.csv"
    path.write_text("a,c0,c4,c12\n0,1,2,3\n0,1,two,3\n")
    fn = estimator_io.csv_input_fn(
        str(path), label="a", dtypes={"c4": "int64"}, batch_size=2, shuffle=False
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"bad\.csv', line 3: holds 'two'"):
        estimator.train(fn, steps=1)
