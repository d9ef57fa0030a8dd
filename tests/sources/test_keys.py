"""A key for each row: what it is for each source, and that it stays with its row."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError


def keyed(fn, draw, mode="eval"):
    """Returns the rows' values of "x" by their keys."""
    batches = draw(lambda: fn(mode))
    return [
        (key.decode(), x) for b in batches for key, x in zip(b["key"], b["x"].tolist(), strict=True)
    ]


@pytest.mark.parametrize("stream", [False, True])
def test_lines_are_known_by_path_and_number(tmp_path, draw, stream):
    files = [tmp_path / "a.csv", tmp_path / "b.csv"]
    files[0].write_text("x\n0\n\n1\n")
    files[1].write_text("x\n2\n3\n")
    fn = estimator_io.csv_input_fn(files, stream=stream, key=True, batch_size=3, seed=1, epochs=1)
    places = {f"{files[0]}:2": 0, f"{files[0]}:4": 1, f"{files[1]}:2": 2, f"{files[1]}:3": 3}
    for mode in ("eval", "train"):
        assert dict(keyed(fn, draw, mode)) == places


def test_records_are_known_by_path_and_number(write_records, draw):
    files = [write_records(f"{at}.tfrecord", range(at * 3, at * 3 + 3)) for at in range(2)]
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    fn = estimator_io.tfrecord_input_fn(files, spec, key=True, batch_size=4, seed=1, epochs=1)
    for mode in ("eval", "train"):
        found = {key: x[0] for key, x in keyed(fn, draw, mode)}
        assert found == {f"{files[at // 3]}#{at % 3}": at for at in range(6)}


def test_rows_of_arrays_are_known_by_index_and_shuffled_with_it(draw):
    x = np.arange(50.0)
    fn = estimator_io.input_fn({"x": x}, key=True, batch_size=7, seed=1, epochs=1)
    found = keyed(fn, draw, "train")
    assert [int(key) for key, _ in found] == [x for _, x in found]
    assert sorted(x for _, x in found) == x.tolist()
    without = fn.replace(key=None)
    assert [b["x"].tolist() for b in draw(lambda: without("train"))] == [
        b["x"].tolist() for b in draw(lambda: fn("train"))
    ]
    assert fn.num_rows == 50


def test_parts_of_a_split_keep_the_indices_of_the_whole(draw):
    parts = [
        estimator_io.input_fn({"x": np.arange(20)}, split=(part, 0.7), key=True, batch_size=9)
        for part in ("train", "validation")
    ]
    found = [pair for part in parts for pair in keyed(part, draw)]
    assert sorted(found) == sorted((str(x), x) for x in range(20))


def test_features_without_names_have_no_place_for_a_key():
    fn = estimator_io.input_fn(np.arange(4.0), key=True, batch_size=2)
    with pytest.raises(TypeError, match="key='key' needs features in a dict"):
        fn.dataset("eval")
    taken = estimator_io.input_fn({"x": np.arange(4.0)}, key="x", batch_size=2)
    with pytest.raises(TypeError, match="has no such name yet"):
        taken.dataset("eval")


def test_a_mixture_takes_keys_from_its_parts(draw):
    parts = [
        estimator_io.input_fn({"x": x}, key=True, batch_size=1)
        for x in (np.arange(3), np.arange(10, 12))
    ]
    found = keyed(estimator_io.mix(parts, batch_size=2), draw)
    assert sorted(found) == [("0", 0), ("0", 10), ("1", 1), ("1", 11), ("2", 2)]
    with pytest.raises(OptionError, match="input functions that are mixed"):
        estimator_io.mix(parts, batch_size=2, key=True)
