"""Skipping and keys under the Estimator: the same rows after a restart, the list in model_dir."""

import json
import pathlib

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import PositionError
from estimator_io.sources.skipped import LIST_NAME

SPEC = {"x": tf.io.FixedLenFeature([], tf.int64)}


@pytest.fixture
def records(tmp_path):
    """Twenty records, the fourth of another type, the eighth damaged."""
    path = tmp_path / "a.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as writer:
        for x in range(20):
            value = {"int64_list": tf.train.Int64List(value=[x])}
            if x == 3:
                value = {"float_list": tf.train.FloatList(value=[0.5])}
            feature = {"x": tf.train.Feature(**value)}
            example = tf.train.Example(features=tf.train.Features(feature=feature))
            writer.write(example.SerializeToString())
            if x == 6:
                writer.flush()
                behind = path.stat().st_size
    data = bytearray(path.read_bytes())
    data[behind + 14] ^= 0xFF
    path.write_bytes(data)
    return str(path)


def make(path, **options):
    options = {"batch_size": 2, "seed": 3, "on_error": "skip", **options}
    return estimator_io.tfrecord_input_fn(path, SPEC, **options)


@pytest.mark.parametrize(("shuffle", "cached"), [(False, False), (5, True)])
def test_interrupted_training_sees_the_rows_of_an_uninterrupted_one(
    recording_estimator, records, tmp_path, shuffle, cached
):
    options = {"cache": str(tmp_path / "store")} if cached else {}
    fn = make(records, shuffle=shuffle, epochs=2, **options)
    whole = [batch["x"].tolist() for batch in fn.dataset("train").as_numpy_iterator()]
    good = [x for x in range(20) if x not in (3, 7)]
    assert sorted(x for batch in whole for x in batch) == sorted(good * 2)
    seen = []
    for _ in range(3):
        estimator, rows = recording_estimator()
        estimator.train(make(records, shuffle=shuffle, epochs=2, **options), steps=5)
        seen += rows["train"]
    assert seen == whole[:15]
    listed = pathlib.Path(estimator.model_dir, LIST_NAME).read_text().splitlines()
    assert {json.loads(line)["record"] for line in listed} == {3, 7}


def test_interrupted_training_over_a_cache_by_index_sees_them_too(recording_estimator, tmp_path):
    def parse(features):
        good = tf.debugging.Assert(tf.not_equal(features["x"] % 7, 3), ["refused"])
        with tf.control_dependencies([good]):
            return {"x": tf.identity(features["x"])}

    def source():
        told = {"batch_size": 3, "seed": 5, "epochs": 2, "on_error": "skip"}
        cache = str(tmp_path / "store")
        return estimator_io.input_fn({"x": np.arange(20)}, parse=parse, cache=cache, **told)

    whole = [batch["x"].tolist() for batch in source().dataset("train").as_numpy_iterator()]
    assert sorted(x for batch in whole for x in batch) == sorted(
        [x for x in range(20) if x % 7 != 3] * 2
    )
    seen = []
    for _ in range(2):
        estimator, rows = recording_estimator()
        estimator.train(source(), steps=4)
        seen += rows["train"]
    assert seen == whole[:8]


def test_training_that_stopped_at_a_bad_row_goes_on_skipping_but_not_back(
    recording_estimator, records
):
    estimator, _rows = recording_estimator()
    options = {"shuffle": False, "batch_size": 1}
    raising = make(records, on_error="raise", index=False, **options)
    with pytest.raises(tf.errors.OpError):
        estimator.train(raising, steps=9)
    assert "a.tfrecord', record 7" in raising.find_fault()  # damage comes before faults of parse
    estimator, again = recording_estimator()
    estimator.train(make(records, **options), steps=9)
    read = [x for batch in again["train"] for x in batch]
    assert read[-9:] == [x for x in range(20) if x not in (3, 7)][: len(read)][-9:]
    estimator, _ = recording_estimator()
    with pytest.raises(PositionError, match="on_error"):
        estimator.train(raising, steps=1)


def test_keys_come_through_predict_for_the_rows_that_are_left(tf_estimator, tmp_path, records):
    def model_fn(features, labels, mode):
        return tf_estimator.EstimatorSpec(mode, predictions=dict(features))

    estimator = tf_estimator.Estimator(model_fn, str(tmp_path / "model"))
    # predict asks for a checkpoint; one step of nothing makes it
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        step = tf.compat.v1.train.get_or_create_global_step()
        session.run(step.initializer)
        tf.compat.v1.train.Saver([step]).save(session, str(tmp_path / "model" / "model.ckpt"))
    found = {row["key"].decode(): row["x"] for row in estimator.predict(make(records, key=True))}
    assert found == {f"{records}#{x}": x for x in range(20) if x not in (3, 7)}
