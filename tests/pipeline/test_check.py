"""The checker: what it finds in one batch, and what the first call in training says by itself."""

import itertools
import logging

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.errors import NoDataError, SourceError

nan = float("nan")


def kinds(report):
    return [(problem.kind, problem.certain, problem.mode) for problem in report.problems]


def arrays(**options):
    return estimator_io.input_fn(
        (np.ones((6, 2), "float32"), np.arange(6)), batch_size=4, **options
    )


def test_a_sound_pipeline_has_no_problem_and_says_so():
    report = arrays().check()
    assert report.ok
    assert report.problems == ()
    assert report.modes == ("train", "eval")
    assert repr(report).startswith("checked train and eval in ")
    assert repr(report).endswith("no problem found")


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize(
    ("features", "labels", "words"),
    [
        ([1.0, nan, 2.0], [0, 1, 2], "features['x'] holds NaN: 1 of 3 values"),
        ([1.0, 3.0, 2.0], [0.0, 1.0, float("inf")], "labels holds an infinite value: 1 of 3"),
    ],
)
def test_values_that_make_the_loss_nan_are_found(features, labels, words, how):
    data = {"x": np.array(features)}, np.array(labels)
    fn = estimator_io.input_fn(data, batch_size=3)
    report = in_graph(fn.check, how)
    assert kinds(report) == [("values", False, "train")]  # the same in evaluation, told once
    assert words in report.problems[0].text
    assert "1 problem" in repr(report)


def in_graph(run, how):
    if how == "eager":
        return run()
    with tf.Graph().as_default():
        return run()


def test_values_that_a_later_stage_spoils_are_found():
    def scale(x, y):
        return tf.math.log(x - 1), y

    report = arrays(batch_map=scale).check("train")
    assert kinds(report) == [("values", False, "train")]


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ([-1, 1], "labels have shape [None, 1]"),
        (None, "no known rank"),
        ([], "a single value for the whole batch"),
    ],
)
def test_labels_of_a_rank_that_a_loss_takes_amiss_are_doubted(shape, words):
    def change(x, y):
        if shape is None:
            return x, tf.numpy_function(lambda y: y, [y], tf.int64)
        return x, tf.reduce_sum(y) if shape == [] else tf.reshape(y, shape)

    report = arrays(batch_map=change).check("eval")
    assert kinds(report)[0] == ("labels", False, "eval")
    assert words in report.problems[0].text


def test_labels_and_features_of_another_number_of_rows_are_doubted():
    report = arrays(batch_map=lambda x, y: (x, y[1:])).check("train")
    assert kinds(report) == [("labels", False, "train")]
    assert "labels has 3 rows, and the features have [4]" in report.problems[0].text


def test_an_empty_pipeline_is_a_certain_problem_and_the_error_of_a_call():
    fn = arrays(filter=lambda x, y: y > 100)
    assert kinds(fn.check("eval")) == [("empty", True, "eval")]
    with pytest.raises(NoDataError):
        fn("eval")


def test_a_structure_that_a_stage_changes_is_a_certain_problem():
    fn = arrays(augment=lambda x, y: {"x": x})
    assert kinds(fn.check()) == [("structure", True, "train")]


def test_a_shape_that_augment_changes_for_training_alone_is_doubted():
    fn = arrays(augment=lambda x, y: (x[:1], y))
    (problem,) = fn.check().problems
    assert (problem.kind, problem.certain) == ("structure", False)
    assert "[None, 1] in train and [None, 2] in eval" in problem.text


def test_an_error_of_the_pipeline_itself_is_told_as_a_problem():
    fn = arrays(parse=lambda x, y: (tf.ensure_shape(tf.boolean_mask(x, x > 5), [2]), y))
    (problem,) = fn.check("train").problems
    assert (problem.kind, problem.certain) == ("error", True)
    assert "InvalidArgumentError" in problem.text


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("mode", ["eval", "infer"])
def test_an_endless_evaluation_is_refused_at_once_with_the_remedy(how, mode):
    fn = estimator_io.dataset_input_fn(lambda: tf.data.Dataset.range(3).repeat(), batch_size=2)
    with pytest.raises(SourceError, match=rf"never ends, so {mode}.*repeat\(\).*check=False"):
        in_graph(lambda: fn(mode), how)
    assert ("endless", True, "eval") in kinds(in_graph(fn.check, how))
    passed = in_graph(lambda: fn.replace(check=False)(mode), how)
    assert passed.element_spec.shape.as_list() == [None]
    assert in_graph(lambda: fn("train"), how) is not None  # training may be endless


def test_the_old_numpy_input_fn_that_never_ends_is_doubted_in_evaluation(caplog):
    fn = estimator_io.numpy_input_fn({"x": np.arange(3)}, num_epochs=None, shuffle=False)
    fn("eval")
    assert "never ends" in caplog.text
    assert "num_epochs=1" in caplog.text


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_rows_that_can_be_read_only_once_are_refused(how):
    def make():
        spent = iter(range(20))

        def rows():
            signature = tf.TensorSpec([], tf.int64)
            return tf.data.Dataset.from_generator(lambda: spent, output_signature=signature)

        return estimator_io.dataset_input_fn(rows, batch_size=2)

    fn = make()
    # Two passes over twenty rows: the second begins with another row, or with none.
    assert "spent" in [
        problem.kind for problem in in_graph(lambda: fn.check("train"), how).problems
    ]
    one = iter([7])
    signature = tf.TensorSpec([], tf.int64)
    fn = estimator_io.generator_input_fn(lambda: one, signature=signature, batch_size=2)
    with pytest.raises(SourceError):
        in_graph(lambda: fn("train"), how)


def test_a_generator_that_begins_anew_is_no_problem():
    def rows():
        yield from ({"x": float(i)} for i in itertools.chain(range(5)))

    assert estimator_io.generator_input_fn(rows, batch_size=2).check().ok


def test_the_first_call_in_training_warns_once_and_can_be_switched_off(caplog):
    fn = estimator_io.input_fn({"x": np.array([nan] * 5)}, batch_size=2)
    with caplog.at_level(logging.WARNING, "estimator_io"):
        fn("train")
        fn("train")
    assert [record.message for record in caplog.records if "NaN" in record.message] == [
        caplog.records[0].message
    ]
    caplog.clear()
    fn.replace(check=False)("train")
    assert caplog.text == ""


def test_the_look_of_the_first_call_reads_a_few_rows_and_none_where_a_cache_keeps_them():
    seen = []

    def parse(x):
        return tf.numpy_function(lambda x: seen.append(int(x)) or x, [x], tf.int64)

    fn = estimator_io.input_fn(np.arange(5000), parse=parse, batch_size=1000, seed=1)
    fn("train")
    assert 0 < len(seen) <= 16
    seen.clear()
    fn.replace(cache="memory", memory_limit="1TB").check("train")
    assert len(seen) <= 1000 + 32  # one batch, and the rows under way
    seen.clear()
    fn.replace(check=False)("train")
    assert seen == []


def test_a_check_moves_no_position_and_fills_no_cache(tmp_path):
    fn = estimator_io.input_fn(np.arange(10), batch_size=2, seed=3, epochs=1)
    cached = fn.replace(cache=str(tmp_path / "cache"))
    before = [batch.tolist() for batch in fn("train").as_numpy_iterator()]
    assert cached.check().ok
    assert not (tmp_path / "cache").exists()
    assert fn.check().ok
    assert [batch.tolist() for batch in fn("train").as_numpy_iterator()] == before


def test_batches_by_length_are_looked_at_without_filling_a_bucket():
    rows = [np.arange(i % 4 + 1.0) for i in range(10)]
    spec = tf.TensorSpec([None], tf.float64)
    fn = estimator_io.generator_input_fn(
        lambda: iter(rows), signature=spec, bucket_boundaries=[2, 3], batch_size=100
    )
    assert fn.check().ok


def test_a_check_reads_batches_of_the_size_that_params_give():
    fn = estimator_io.input_fn(np.arange(10), batch_map=lambda x: tf.ensure_shape(x, [4]))
    assert fn.check("train", {"batch_size": 4}).ok
