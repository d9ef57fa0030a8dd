"""A look at an input_fn tells what it gives, and finds each known fault by its name."""

from __future__ import annotations

import functools
import glob
import inspect
import json
import threading

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import compat
from estimator_io.preflight.limits import Limits
from estimator_io.preflight.look import look_at
from estimator_io.preflight.names import CASES
from estimator_io.runner.input_calls import InputCall
from estimator_io.runner.places import function_place

v1 = tf.compat.v1
PLENTY = Limits(batches=4, seconds=150)


@pytest.fixture(scope="module", autouse=True)
def _estimator():
    compat.install()


def look(input_fn, mode="train", limits=PLENTY, **given):
    call = InputCall(input_fn, mode, mode, place=function_place(input_fn), **given)
    return look_at(call, limits)


def report_of(input_fn, mode="train", limits=PLENTY, **given):
    return look(input_fn, mode, limits, **given).report


def cases_of(input_fn, mode="train", **given):
    report = report_of(input_fn, mode, **given)
    assert report.failure == ""
    assert {finding.case for finding in report.findings} <= {*CASES}
    return {finding.case: finding for finding in report.findings}


def rows(size=400, classes=2):
    random = np.random.RandomState(0)
    features = {"x": random.rand(size, 3).astype("f"), "name": np.array([b"a", b""] * (size // 2))}
    return features, random.randint(0, classes, size)


def shuffled(mode="train"):
    dataset = tf.data.Dataset.from_tensor_slices(rows())
    dataset = dataset.shuffle(400, seed=None).repeat() if mode == "train" else dataset
    return dataset.batch(50)


def queue():
    features, labels = rows(8)
    make = v1.estimator.inputs.numpy_input_fn
    return make(features, labels, batch_size=4, num_epochs=1, shuffle=False)()


def one_shot():
    return v1.data.make_one_shot_iterator(shuffled("eval")).get_next()


def initializable():
    iterator = v1.data.make_initializable_iterator(shuffled("eval"))
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    features, labels = iterator.get_next()
    return {"x": features["x"] * 2, "name": features["name"]}, labels


def test_a_sound_input_fn_has_no_finding_and_its_figures():
    report = report_of(shuffled)
    assert (report.status, report.kind, report.length) == ("good", "Dataset", "endless")
    assert (report.batches, report.rows, report.rows_again) == (4, 200, 0)
    assert report.first_seconds > 0
    x = next(column for column in report.columns if column.path == "features['x']")
    assert (x.dtype, x.shapes) == ("float32", [(50, 3)])
    assert 0 <= x.minimum < x.mean < x.maximum <= 1


def test_figures_are_those_of_numpy():
    features, labels = rows()
    report = report_of(functools.partial(shuffled, "eval"), "eval", limits=Limits(100, 150))
    by_path = {column.path: column for column in report.columns}
    assert (report.length, report.rows) == ("8 batches", 400)
    assert by_path["features['x']"].minimum == features["x"].min()
    np.testing.assert_allclose(by_path["features['x']"].mean, features["x"].mean(), rtol=1e-6)
    assert by_path["features['name']"].empty == 200
    assert by_path["labels"].classes == {0: (labels == 0).sum(), 1: (labels == 1).sum()}


@pytest.mark.parametrize("input_fn", [one_shot, initializable, queue])
def test_tensors_are_read_as_the_estimator_reads_them(input_fn):
    report = report_of(input_fn, "eval")
    assert (report.kind, report.failure) == ("tensors", "")
    expected = rows(8)[0]["x"] if input_fn is queue else rows()[0]["x"][:200]
    x = next(column for column in report.columns if column.path == "features['x']")
    scale = 2 if input_fn is initializable else 1
    np.testing.assert_allclose(x.mean, expected.mean() * scale, rtol=1e-6)


def test_an_input_fn_gets_what_it_asks_for(tmp_path):
    seen = []

    def input_fn(mode, params, config):
        seen.append((mode, params, config.tf_random_seed, config.model_dir))
        return shuffled(mode)

    config = tf.estimator.RunConfig(model_dir=str(tmp_path / "model"), tf_random_seed=3)
    report_of(input_fn, "eval", params={"n": 1}, config=config)
    ((mode, params, seed, model_dir),) = seen
    assert (mode, params, seed) == ("eval", {"n": 1}, 3)
    assert not model_dir.startswith(str(tmp_path))
    assert not (tmp_path / "model").exists()


def test_the_text_shows_everything():
    text = str(report_of(functools.partial(shuffled, "eval"), "eval"))
    assert "eval: shuffled (tests/preflight/test_look.py:" in text
    assert "Dataset, 8 batches; drawn: 4" in text
    assert "200 rows, each another one" in text
    assert "features['name']  string [50]; 100 of 200 empty" in text
    assert "2 classes (" in text
    assert text.endswith("nothing found")


def test_the_json_holds_no_number_that_json_has_not():
    def broken():
        return tf.data.Dataset.from_tensor_slices({"x": [[np.nan], [np.nan]]}).batch(2)

    text = json.dumps(report_of(broken).as_dict(), allow_nan=False)
    (column,) = json.loads(text)["columns"]
    assert (column["nan"], column["mean"], column["minimum"]) == (2, None, None)


# Each known fault, in the mode in which it shows.


def ordered():
    return tf.data.Dataset.range(100).map(lambda x: (x, x % 2)).batch(10)


def fixed_seed():
    return tf.data.Dataset.range(100).shuffle(100, seed=3).batch(10)


def large():
    return tf.data.Dataset.from_tensors(np.random.rand(200, 200)).repeat()


def endless():
    return tf.data.Dataset.range(10).repeat().batch(4)


def endless_filtered():
    return v1.data.make_one_shot_iterator(
        tf.data.Dataset.range(10).repeat().filter(lambda x: x > 3).batch(4)
    ).get_next()


def dropping():
    return tf.data.Dataset.range(10).filter(lambda x: x > 10).batch(4)


def python_map():
    rows = tf.data.Dataset.range(10)
    return rows.map(lambda x: tf.numpy_function(lambda v: v, [x], tf.int64)).batch(4)


def frozen():
    def flip(x):
        return tf.image.random_flip_left_right(tf.fill([2, 2, 3], x))

    return tf.data.Dataset.range(10).map(flip).cache().repeat().batch(4)


def order_frozen():
    return tf.data.Dataset.range(10).shuffle(10).cache().repeat().batch(4)


def cached_evaluation():
    return tf.data.Dataset.range(10).cache().batch(4)


def bad_csv():
    lines = tf.data.Dataset.from_tensor_slices([b"1,2"] * 8 + [b"3"])
    return lines.map(lambda line: tf.stack(tf.io.decode_csv(line, [[0], [0]]))).batch(4)


def bad_jpeg():
    path = tf.data.Dataset.from_tensors("examples/data/adult/adult.data")
    return path.map(lambda p: tf.io.decode_jpeg(tf.io.read_file(p))).batch(1)


def again():
    return tf.data.Dataset.range(3).repeat(10).batch(6)


def sorted_by_class():
    labels = np.repeat([0, 1], 500)
    return tf.data.Dataset.from_tensor_slices((np.random.rand(1000), labels)).batch(50)


def pure_batches():
    labels = np.repeat([0, 1, 2, 3], 50)
    return tf.data.Dataset.from_tensor_slices((np.random.rand(200), labels)).batch(50)


def columns_as_labels():
    return tf.data.Dataset.from_tensor_slices((np.random.rand(8), np.random.rand(8, 1))).batch(4)


def not_a_number():
    return tf.data.Dataset.from_tensor_slices({"x": [1.0, np.nan]}).batch(2)


@pytest.mark.parametrize(
    ("input_fn", "mode", "case", "certain", "words"),
    [
        (ordered, "train", "restart", False, "go on at the row where training stood"),
        (fixed_seed, "train", "restart", False, "very rows of the first"),
        (large, "train", "arrays in the graph", False, "320 kB of constants"),
        (endless, "eval", "endless evaluation", True, "eval would run for ever"),
        (endless_filtered, "infer", "endless evaluation", True, "infer would run for ever"),
        (dropping, "train", "empty input", True, "not a single batch came"),
        (python_map, "eval", "slow map", False, "1 map calls Python one row at a time"),
        (frozen, "train", "augmentation frozen", False, "stands before cache()"),
        (order_frozen, "train", "order frozen", False, "each epoch has the same order"),
        (cached_evaluation, "eval", "eval rebuilt", False, "filled again each time"),
        (bad_csv, "eval", "corrupt record", True, "behind 2 batches: InvalidArgumentError"),
        (bad_jpeg, "eval", "corrupt record", True, "in the first batch"),
        (again, "eval", "duplicates", False, "21 of 24 rows came before, 12 of them in their own"),
        (sorted_by_class, "eval", "one class", False, "all 200 rows are of class 0"),
        (pure_batches, "eval", "one class", False, "each of the 4 batches holds rows of one class"),
        (columns_as_labels, "eval", "labels", False, "tf.squeeze"),
        (not_a_number, "eval", "values", False, "features['x'] holds NaN"),
    ],
)
def test_a_fault_is_found_by_its_name(input_fn, mode, case, certain, words):
    found = cases_of(input_fn, mode)
    assert case in found, found
    assert found[case].certain == certain
    assert words in found[case].text


def ragged_and_sparse():
    def row(x):
        words = tf.RaggedTensor.from_tensor([[x, x, x], [x, x, x]])[:, : x % 3]
        return {"words": words, "tags": tf.sparse.from_dense([[x, 0], [0, x]])}, [x, x]

    return tf.data.Dataset.range(1, 4).map(row)


@pytest.mark.parametrize(
    ("input_fn", "mode", "case", "given"),
    [
        (shuffled, "train", "restart", {}),
        (ordered, "eval", "restart", {}),
        (ragged_and_sparse, "eval", "labels", {}),
        (endless, "train", "endless evaluation", {}),
        (endless, "eval", "endless evaluation", {"steps": 5}),
        (functools.partial(shuffled, "eval"), "eval", "arrays in the graph", {}),
        (cached_evaluation, "train", "eval rebuilt", {}),
        (frozen, "eval", "augmentation frozen", {}),
    ],
)
def test_a_fault_is_not_found_where_there_is_none(input_fn, mode, case, given):
    assert case not in cases_of(input_fn, mode, **given)


def test_a_cache_on_the_disk_from_before_is_named(tmp_path):
    path = str(tmp_path / "cache")

    def cached():
        return tf.data.Dataset.range(3).cache(path).batch(2)

    assert "stale cache" not in cases_of(cached, "eval")
    assert glob.glob(f"{path}*")
    assert path in cases_of(cached, "eval")["stale cache"].text


def test_what_is_ignored_is_not_reported():
    call = InputCall(ordered)
    assert look_at(call, PLENTY, {"restart"}).report.status == "good"


# What gives nothing to look at.


def returns_nothing():
    tf.data.Dataset.range(3)


def returns_arrays():
    return np.zeros(3), np.zeros(3)


def returns_three():
    return tf.data.Dataset.range(3).map(lambda x: (x, x, x))


def raises():
    return {}["colour"]


def needs(files, batch_size):
    return tf.data.Dataset.range(3)


def asks_for_params(params):
    return tf.data.Dataset.range(3).batch(params["batch_size"])


@pytest.mark.parametrize(
    ("input_fn", "words"),
    [
        (asks_for_params, "It asks for params, and was given none: --params"),
        (returns_nothing, "returned None. Expected: a tf.data.Dataset"),
        (returns_arrays, "returned ndarray among its features and labels"),
        (returns_three, "len 2 tuple"),
        (raises, "KeyError: 'colour' (tests/preflight/test_look.py:"),
        (needs, "needs arguments that the Estimator does not give: files, batch_size"),
    ],
)
def test_an_input_fn_that_cannot_be_run_is_told_in_one_line(input_fn, words):
    report = report_of(input_fn)
    assert report.status == "failed"
    assert words in report.failure
    assert "\n" not in report.failure


def test_the_line_that_raises_is_named():
    line = inspect.getsourcelines(raises)[1] + 1
    assert report_of(raises).failure.endswith(f"(tests/preflight/test_look.py:{line})")


def test_an_input_fn_that_never_returns_is_given_up_with_its_line():
    released = threading.Event()

    def waits():
        released.wait()
        return shuffled()

    found = look(waits, limits=Limits(4, 1.0))
    released.set()
    line = inspect.getsourcelines(waits)[1] + 1
    assert found.hangs
    assert f"has not returned after 1 s; it stands at tests/preflight/test_look.py:{line}" in (
        found.report.failure
    )


def test_rows_that_stop_coming_are_given_up_with_their_line():
    released = threading.Event()

    def stalls():
        def row(i):
            if i >= 8:
                released.wait()
            return i

        numbers = tf.data.Dataset.range(12)
        return numbers.map(lambda i: tf.numpy_function(row, [i], tf.int64)).batch(4)

    found = look(stalls, "eval", limits=Limits(4, 12.0))
    released.set()
    (finding,) = [f for f in found.report.findings if f.case == "stalled"]
    assert found.report.batches == 2
    line = inspect.getsourcelines(stalls)[1] + 3
    assert (
        f"the first 2 in the time there was; it stands at tests/preflight/test_look.py:{line}"
        in finding.text
    )


# Input functions of estimator_io.


def test_an_input_fn_of_ours_is_checked_by_itself(tmp_path):
    features = {"x": np.array([1.0, np.nan, 3.0, 4.0])}
    fn = estimator_io.input_fn(
        features, parse=lambda f: f, batch_size=2, cache=str(tmp_path / "cache"), seed=1
    )
    report = report_of(fn)
    assert (report.kind, report.length) == ("InputFn", "endless")
    assert [finding.case for finding in report.findings if finding.case != "duplicates"] == [
        "values"
    ]
    assert not glob.glob(str(tmp_path / "cache" / "*"))


def test_an_input_fn_of_ours_that_drops_every_row_is_empty():
    fn = estimator_io.input_fn({"x": np.arange(4)}, filter=lambda f: f["x"] > 9, batch_size=2)
    found = cases_of(fn, "eval")["empty input"]
    assert found.certain
    assert "none of which got through filter" in found.text


def test_a_damaged_record_of_ours_is_named_with_its_file(write_records):
    path = write_records("rows.tfrecord", range(5))
    with open(path, "r+b") as file:
        file.seek(60)
        byte = file.read(1)
        file.seek(60)
        file.write(bytes([byte[0] ^ 1]))
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    fn = estimator_io.tfrecord_input_fn(path, spec, batch_size=2)
    report = report_of(fn, "eval")
    text = report.failure + " ".join(finding.text for finding in report.findings)
    assert "rows.tfrecord" in text
    assert report.status != "good"
