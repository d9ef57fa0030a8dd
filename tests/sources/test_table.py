"""Arrays as sources: what is taken, what is refused, and where they are kept."""

import collections

import numpy as np
import pytest

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ({"x": np.arange(3), "y": np.arange(4)}, "source['y'] has 4 rows, but source['x'] has 3"),
        ((np.arange(3), np.arange(2)), "source[1] has 2 rows, but source[0] has 3"),
        ({"x": np.array([1, "a", None], object)}, "row 0 is 1 of type int"),
        (np.array(["a", None], object), "row 1 is None of type NoneType"),
        ({"x": 3}, "source['x'] is a single value, 3"),
        ({}, "source is empty"),
        (np.ma.array([1, 2], mask=[0, 1]), "source is a masked array"),
        (np.zeros(2, "datetime64[s]"), "dtype that TensorFlow does not have"),
        ([[1], [1, 2]], "its rows have different shapes"),
    ],
)
def test_arrays_that_do_not_fit_are_refused_by_name(source, words):
    with pytest.raises(SourceError) as caught:
        estimator_io.input_fn(source, batch_size=1)
    assert words in str(caught.value)


@pytest.mark.parametrize("source", [np.zeros((0, 3)), {"x": []}, []])
def test_arrays_without_rows_are_an_error(source):
    with pytest.raises(NoDataError, match="has no rows"):
        estimator_io.input_fn(source, batch_size=1)


def test_labels_for_arrays_belong_into_the_source():
    with pytest.raises(OptionError, match=r"give the tuple \(features, labels\)"):
        estimator_io.input_fn(np.arange(3), labels=[1, 2, 3], batch_size=1)


def test_a_dataset_from_outside_is_refused_with_the_reason():
    import tensorflow as tf

    with pytest.raises(OptionError, match="belongs to the graph it was made in"):
        estimator_io.input_fn(tf.data.Dataset.range(3), batch_size=1)


def test_a_memory_map_is_read_where_it_lies(tmp_path, draw):
    path = tmp_path / "rows.npy"
    np.save(path, np.arange(200_000, dtype=np.float32).reshape(-1, 4))
    mapped = np.load(path, mmap_mode="r")
    fn = estimator_io.input_fn(mapped, batch_size=1000, seed=1, epochs=1)
    assert "outside the graph" in repr(fn)
    rows = np.concatenate(draw(lambda: fn("train"), "graph"))
    assert rows.shape == (50_000, 4)
    np.testing.assert_array_equal(rows[np.argsort(rows[:, 0])], mapped)


def test_row_wise_stages_over_large_arrays_see_every_row(draw):
    big = np.arange(70_000, dtype=np.int64)
    fn = estimator_io.input_fn(big, parse=lambda x: x * 2, batch_size=7_000, epochs=1, seed=2)
    rows = np.concatenate(draw(lambda: fn("train"), "graph"))
    np.testing.assert_array_equal(np.sort(rows), big * 2)


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_list_of_bytes_keeps_the_zeros_at_their_end(draw, how):
    raw = [b"\1\2\0\0", b"\0\0\0\0", b"ab"]
    [batch] = draw(lambda: estimator_io.input_fn({"raw": raw}, batch_size=3)("eval"), how)
    assert batch["raw"].tolist() == raw


Pair = collections.namedtuple("Pair", "x y")


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("rows", [6, 100_000])
def test_a_named_tuple_of_arrays_keeps_its_parts_and_its_type(draw, how, rows):
    pair = Pair(np.arange(rows), np.arange(rows) * 0.5)
    fn = estimator_io.input_fn(pair, batch_size=6)
    assert fn.num_rows == rows
    [batch] = draw(lambda: fn("eval"), how, limit=1)
    assert type(batch) is Pair
    assert batch.x.tolist() == list(range(6))
    assert batch.y.tolist() == [i / 2 for i in range(6)]


def test_the_printed_program_makes_named_tuples_too(draw):
    fn = estimator_io.input_fn((Pair(np.arange(6), np.arange(6) * 2), np.arange(6)), batch_size=6)
    namespace = {}
    exec(compile(fn.source_code("eval"), "printed", "exec"), namespace)
    arrays = {"source_0_0": np.arange(6), "source_0_1": np.arange(6) * 2, "source_1": np.arange(6)}
    [(features, labels)] = draw(lambda: namespace["make_dataset"](**arrays))
    assert (features.y.tolist(), labels.tolist()) == ([0, 2, 4, 6, 8, 10], list(range(6)))
