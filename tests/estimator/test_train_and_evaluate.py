"""An InputFn handed to the Estimator, in every way that people hand one over."""

import numpy as np
import pytest

import estimator_io
from estimator_io import ModeError, NoDataError


def make(n=10, **options):
    options = {"batch_size": 4, "seed": 5, **options}
    return estimator_io.input_fn(({"x": np.arange(n)}, np.arange(n) % 2), **options)


def flat(batches):
    return [row for batch in batches for row in batch]


def test_train_evaluate_and_predict_take_the_input_fn_itself(recording_estimator):
    estimator, rows = recording_estimator()
    fn = make(epochs=1)
    estimator.train(fn)
    assert sorted(flat(rows["train"])) == list(range(10))
    assert flat(rows["train"]) != list(range(10))
    result = estimator.evaluate(fn)
    assert rows["eval"] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert result["rows"] == pytest.approx(4.5)
    predicted = [int(p["x"]) for p in estimator.predict(fn)]
    assert predicted == list(range(10))


def test_train_and_evaluate_trains_endless_data_and_evaluates_one_pass(
    recording_estimator, tf_estimator
):
    estimator, rows = recording_estimator()
    fn = make()
    tf_estimator.train_and_evaluate(
        estimator,
        tf_estimator.TrainSpec(fn, max_steps=7),
        tf_estimator.EvalSpec(fn, steps=None, throttle_secs=0),
    )
    assert len(rows["train"]) == 7
    assert rows["eval"] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_lambdas_work_where_they_pass_or_fix_the_mode(recording_estimator, tf_estimator):
    estimator, rows = recording_estimator()
    fn = make()
    tf_estimator.train_and_evaluate(
        estimator,
        tf_estimator.TrainSpec(lambda: fn.for_mode("train")(), max_steps=3),
        tf_estimator.EvalSpec(lambda: fn("eval"), steps=None, throttle_secs=0),
    )
    assert [len(batch) for batch in rows["train"]] == [4] * 3
    assert flat(rows["eval"]) == list(range(10))


def test_a_bare_call_behind_a_lambda_is_an_error_before_training(recording_estimator):
    estimator, rows = recording_estimator()
    fn = make()
    with pytest.raises(ModeError, match="for_mode"):
        estimator.train(lambda: fn(), steps=1)
    assert rows["train"] == []


def test_params_give_the_batch_size(recording_estimator):
    estimator, rows = recording_estimator(params={"batch_size": 5})
    estimator.train(make(batch_size=None), steps=2)
    assert [len(batch) for batch in rows["train"]] == [5, 5]


def test_two_estimators_with_one_seed_see_the_same_batches(recording_estimator):
    seen = []
    for name in ("one", "two"):
        estimator, rows = recording_estimator(name=name)
        estimator.train(make(), steps=6)
        seen.append(rows["train"])
    assert seen[0] == seen[1]


def test_fit_sees_the_batches_that_the_estimator_sees(recording_estimator):
    estimator, rows = recording_estimator()
    estimator.train(make(), steps=6)
    dataset = make().dataset("train").take(6)
    assert [features["x"].tolist() for features, _ in dataset.as_numpy_iterator()] == rows["train"]


def test_an_evaluation_without_a_row_is_an_error_and_not_a_loss_of_zero(recording_estimator):
    estimator, rows = recording_estimator()
    estimator.train(make(), steps=1)
    with pytest.raises(NoDataError, match="No row is left to eval on"):
        estimator.evaluate(make(filter=lambda f, y: y > 5))
    assert rows["eval"] == []


def test_large_arrays_do_not_end_up_in_the_model_directory(recording_estimator, tmp_path):
    big = np.zeros((1_300, 1_000), np.float32)  # 5.2 MB
    estimator, rows = recording_estimator()
    fn = estimator_io.input_fn(({"x": big}, big[:, 0]), batch_size=8, seed=1)
    estimator.train(fn, steps=8)
    size = sum(path.stat().st_size for path in (tmp_path / "model").rglob("*"))
    assert len(rows["train"]) == 8
    assert size < 1_000_000


def test_weights_reach_the_head_of_a_canned_estimator(tf_estimator, tmp_path):
    import tensorflow as tf

    x, y = np.arange(4.0, dtype=np.float32), np.array([0, 0, 0, 1])
    weights = np.array([1.0, 1.0, 1.0, 0.0], np.float32)
    fn = estimator_io.input_fn(({"x": x}, y, weights), batch_size=4, weight_key="w")
    classifier = tf_estimator.LinearClassifier(
        [tf.feature_column.numeric_column("x")], weight_column="w", model_dir=str(tmp_path / "c")
    )
    classifier.train(fn, steps=1)
    result = classifier.evaluate(fn)
    assert result["label/mean"] == pytest.approx(0.0)  # the only row of class 1 weighs nothing
    assert result["accuracy_baseline"] == pytest.approx(1.0)


def test_a_custom_model_on_recordings_learns_under_the_estimator(tf_estimator, tmp_path):
    import tensorflow as tf

    v1 = tf.compat.v1

    def model_fn(features, labels, mode):
        power = tf.abs(tf.signal.stft(features["audio"], 256, 128)) ** 2
        inputs = tf.reduce_mean(tf.math.log(power + 1e-6), 1)
        weights = v1.get_variable("w", [129, 5], initializer=v1.zeros_initializer())
        logits = inputs @ weights
        loss = tf.reduce_mean(
            tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        )
        train_op = v1.train.AdamOptimizer(0.01).minimize(loss, v1.train.get_global_step())
        accuracy = v1.metrics.accuracy(labels, tf.argmax(logits, 1))
        return tf_estimator.EstimatorSpec(
            mode, loss=loss, train_op=train_op, eval_metric_ops={"accuracy": accuracy}
        )

    options = {"length": 4000, "batch_size": 32, "seed": 1}
    pattern = "examples/data/spoken/**/*.wav"
    train, held_out = (
        estimator_io.audio_input_fn(pattern, split=(part, 0.8), **options)
        for part in ("train", "validation")
    )
    estimator = tf_estimator.Estimator(model_fn, str(tmp_path / "audio"))
    estimator.train(train, steps=150)
    # Five classes: guessing gives 0.2. One speaker a class, so voices alone tell them apart.
    assert estimator.evaluate(held_out)["accuracy"] > 0.45
