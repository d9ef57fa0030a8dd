"""parquet_input_fn against pyarrow: values, types, missing cells, orders, shards and refusals."""

import datetime

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

WAYS = [(how, kind) for how in ("eager", "graph") for kind in ("parquet", "arrow")]
every_way = pytest.mark.parametrize(("how", "kind"), WAYS)


def table_of(ids):
    ids = list(ids)
    return pa.table(
        {
            "id": pa.array(ids, pa.int64()),
            "f": pa.array([i / 4 for i in ids], pa.float32()),
            "s": [f"é{i}" for i in ids],
            "b": [i % 2 == 0 for i in ids],
            "v": pa.array([[i, -i] for i in ids], pa.list_(pa.int16(), 2)),
            "d": pa.array([f"w{i % 3}" for i in ids]).dictionary_encode(),
        }
    )


@pytest.fixture
def write(tmp_path):
    """Returns a function that writes a table in groups of rows, by the kind of file."""

    def write(table, name="rows", kind="parquet", group=4):
        path = str(tmp_path / f"{name}.{kind}")
        if kind == "parquet":
            pq.write_table(table, path, row_group_size=group)
        else:
            with pa.ipc.new_file(path, table.schema) as writer:
                writer.write_table(table, max_chunksize=group)
        return path

    return write


def ids(batches):
    return [i for batch in batches for i in batch["id"].tolist()]


@every_way
def test_lists_of_lists_of_fixed_sizes_keep_their_shape(write, draw, how, kind):
    values = np.arange(7 * 3 * 2 * 2).reshape(7, 3, 2, 2)
    nested = pa.list_(pa.list_(pa.list_(pa.int64(), 2), 2), 3)
    table = pa.table({"d": pa.array(values.tolist(), nested)})
    fn = estimator_io.parquet_input_fn(write(table, kind=kind), batch_size=7)
    assert fn.element_spec["d"].shape.as_list() == [None, 3, 2, 2]
    [batch] = draw(lambda: fn("eval"), how)
    np.testing.assert_array_equal(batch["d"], values)


def test_the_row_of_a_gap_in_a_list_of_lists_is_named(write, draw):
    rows = [[[1, 2], [3, 4]]] * 5 + [[[1, 2], [3, None]]]
    table = pa.table({"d": pa.array(rows, pa.list_(pa.list_(pa.int64(), 2), 2))})
    with pytest.raises(tf.errors.InvalidArgumentError, match="column 'd', row 5"):
        draw(lambda: estimator_io.parquet_input_fn(write(table), batch_size=6)("eval"))


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_two_columns_of_one_name_are_refused_where_it_is_used(write, draw, kind):
    table = pa.table([[1, 2], [3, 4], [5, 6]], names=["a", "b", "a"])
    path = write(table, kind=kind)
    with pytest.raises(SourceError, match="has two columns named 'a'"):
        estimator_io.parquet_input_fn(path, batch_size=2)
    [batch] = draw(lambda: estimator_io.parquet_input_fn(path, columns=["b"], batch_size=2)("eval"))
    assert batch["b"].tolist() == [3, 4]


@every_way
def test_rows_have_the_values_and_types_of_the_file(write, draw, how, kind):
    table = table_of(range(10))
    fn = estimator_io.parquet_input_fn(write(table, kind=kind), batch_size=3)
    batches = draw(lambda: fn("eval"), how)
    assert [len(batch["id"]) for batch in batches] == [3, 3, 3, 1]
    for name, dtype in (("id", "int64"), ("f", "float32"), ("b", "bool"), ("v", "int16")):
        found = np.concatenate([batch[name] for batch in batches])
        assert found.dtype == dtype
        assert found.tolist() == table[name].to_pylist()
    for name in ("s", "d"):
        found = [text.decode() for batch in batches for text in batch[name]]
        assert found == table[name].to_pylist()
    assert fn.num_rows == 10


@every_way
def test_an_epoch_of_training_holds_each_row_once_in_an_order_of_the_seed(write, draw, how, kind):
    paths = [write(table_of(range(at, at + 10)), str(at), kind) for at in (0, 10, 20)]
    options = {"columns": ["id"], "epochs": 2, "batch_size": 30, "seed": 5, "shuffle": 8}
    fn = estimator_io.parquet_input_fn(paths, **options)
    one, other = (batch["id"].tolist() for batch in draw(lambda: fn("train"), how))
    assert sorted(one) == sorted(other) == list(range(30))
    assert one != other
    again = estimator_io.parquet_input_fn(paths, **options, num_parallel_calls=1)
    assert ids(draw(lambda: again("train"), how)) == one + other
    another = estimator_io.parquet_input_fn(paths, **{**options, "seed": 6})
    assert ids(draw(lambda: another("train"), how)) != one + other


def test_a_shuffle_takes_whole_groups_and_mixes_the_rows_of_several(write, draw):
    path = write(table_of(range(40)))
    options = {"columns": ["id"], "epochs": 1, "batch_size": 8, "seed": 1}
    fn = estimator_io.parquet_input_fn(path, **options, shuffle=8)
    assert "the rows of 2 of them at once" in repr(fn)
    for batch in draw(lambda: fn("train")):
        assert len({i // 4 for i in batch["id"].tolist()}) == 2
    whole = estimator_io.parquet_input_fn(path, **options)
    assert "all 40 rows at once" in repr(whole)


def test_few_rows_are_shuffled_uniformly_as_a_whole(write, draw):
    fn = estimator_io.parquet_input_fn(
        write(table_of(range(4)), group=2), columns=["id"], epochs=1200, batch_size=4, seed=1
    )
    counts = np.zeros((4, 4))
    for batch in draw(lambda: fn("train")):
        counts[np.arange(4), batch["id"]] += 1
    # 9 degrees of freedom: chi-squared exceeds 33.7 in 1 of 10,000 uniform samples.
    assert ((counts - 300) ** 2 / 300).sum() < 33.7


@pytest.mark.parametrize("count", [2, 5])
def test_workers_share_out_all_rows(write, count):
    path = write(table_of(range(14)), group=5)  # 3 groups
    fn = estimator_io.parquet_input_fn(path, batch_size=4, epochs=1, seed=1)
    for mode in ("train", "eval"):
        seen = []
        for worker in range(count):
            context = tf.distribute.InputContext(count, worker, 1)
            seen += ids(fn(mode, None, None, context).as_numpy_iterator())
        assert sorted(seen) == list(range(14))


def test_stages_row_by_row_and_dropped_remainders_work(write, draw):
    path = write(table_of(range(10)))
    fn = estimator_io.parquet_input_fn(
        path, columns=["id"], label="f", batch_size=3, parse=lambda f, label: (f["id"], label * 2)
    )
    batches = draw(lambda: fn("eval"))
    assert np.concatenate([y for _, y in batches]).tolist() == [i / 2 for i in range(10)]
    dropped = estimator_io.parquet_input_fn(
        path, columns=["id"], batch_size=4, drop_remainder=True, epochs=1
    )
    assert [batch["id"].shape for batch in draw(lambda: dropped("train"))] == [(4,), (4,)]


def test_label_and_weight_are_set_apart(write, draw):
    fn = estimator_io.parquet_input_fn(
        write(table_of(range(4))), label="id", weight="f", columns=["b"], batch_size=4
    )
    [(features, labels, weights)] = draw(lambda: fn.dataset("eval"))
    assert list(features) == ["b"]
    assert (labels.tolist(), weights.tolist()) == ([0, 1, 2, 3], [0, 0.25, 0.5, 0.75])


@every_way
def test_missing_values_are_nan_or_the_default_or_an_error(write, draw, how, kind):
    table = pa.table({"f": [1.5, None, 2.5], "i": [1, 2, None], "s": ["a", None, "c"]})
    path = write(table, kind=kind, group=2)
    options = {"batch_size": 3, "defaults": {"i": -1, "s": ""}}
    [batch] = draw(lambda: estimator_io.parquet_input_fn(path, **options)("eval"), how)
    np.testing.assert_array_equal(batch["f"], [1.5, np.nan, 2.5])
    assert batch["i"].tolist() == [1, 2, -1]
    assert batch["s"].tolist() == [b"a", b"", b"c"]
    for defaults, words in (
        ({"s": ""}, r"column 'i', row 2 \(from 0\) misses a value\. Expected: int64"),
        ({"i": 0}, r"column 's', row 1 \(from 0\) misses a value\. Expected: string"),
    ):
        fn = estimator_io.parquet_input_fn(path, batch_size=3, defaults=defaults)
        with pytest.raises(tf.errors.InvalidArgumentError, match=rf"rows\.{kind}', " + words):
            draw(lambda fn=fn: fn("eval"), how)


def test_remote_paths_are_read_through_gfile(draw):
    for kind in ("parquet", "arrow"):
        sink = pa.BufferOutputStream()
        table = table_of(range(9))
        if kind == "parquet":
            pq.write_table(table, sink, row_group_size=4)
        else:
            with pa.ipc.new_file(sink, table.schema) as writer:
                writer.write_table(table, max_chunksize=4)
        with tf.io.gfile.GFile(f"ram://tables/rows.{kind}", "wb") as file:
            file.write(sink.getvalue().to_pybytes())
        fn = estimator_io.parquet_input_fn(f"ram://tables/*.{kind}", batch_size=4)
        assert ids(draw(lambda fn=fn: fn("eval"))) == list(range(9))


def test_feather_files_are_arrow_files(tmp_path, draw):
    feather = pytest.importorskip("pyarrow.feather")
    path = str(tmp_path / "rows.feather")
    feather.write_feather(table_of(range(5)), path)
    fn = estimator_io.parquet_input_fn(path, batch_size=5)
    assert ids(draw(lambda: fn("eval"))) == list(range(5))


@pytest.mark.parametrize("mode", ["train", "eval"])
def test_the_printed_program_gives_the_same_batches(write, draw, mode):
    path = write(table_of(range(10)))
    fn = estimator_io.parquet_input_fn(path, label="id", batch_size=3, seed=1, epochs=1)
    program = fn.source_code(mode)
    assert "estimator_io" not in program
    assert "def make_dataset():" in program
    namespace = {}
    exec(compile(program, "printed", "exec"), namespace)
    found, expected = draw(namespace["make_dataset"]), draw(lambda: fn.dataset(mode))
    for one, other in zip(found, expected, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_what_cannot_be_is_refused(write, tmp_path):
    make, path = estimator_io.parquet_input_fn, write(table_of(range(3)))
    for options, words in [
        ({"label": "z"}, r"label names no column\. Received: 'z'.*'id'"),
        ({"columns": ["z"]}, "columns names no column"),
        ({"defaults": {"z": 1}}, "defaults names no column"),
        ({"weight": "f"}, "weight was given without label"),
        ({"columns": ["id"], "label": "id"}, "No column is left"),
    ]:
        with pytest.raises(OptionError, match=words):
            make(path, batch_size=1, **options)
    for values, kind in (([datetime.datetime(2020, 1, 1)], "timestamp"), ([[1], [1, 2]], "list")):
        with pytest.raises(OptionError, match=rf"Column 'c' is of type {kind}.*Leave it out"):
            make(write(pa.table({"c": values}), "odd"), batch_size=1)
    with pytest.raises(SourceError, match=r"other columns.*Received: id: int32.*Expected: id"):
        make([path, write(pa.table({"id": pa.array([1], pa.int32())}), "b")], batch_size=1)
    with pytest.raises(NoDataError, match="None of the 1 files holds a row"):
        make(write(table_of(range(2)).slice(0, 0), "empty"), batch_size=1)
    text = tmp_path / "text.parquet"
    text.write_text("a,b\n1,2\n")
    with pytest.raises(SourceError, match=r"no Parquet or Arrow file: it starts with b'a,b"):
        make(str(text), batch_size=1)
