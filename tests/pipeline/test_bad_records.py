"""Rows that cannot be read: named by default, skipped, counted and listed where that is asked."""

import json
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError
from tests.conftest import DRAWINGS, SPOKEN

RECORD = {"x": tf.io.FixedLenFeature([], tf.int64)}


def example(value):
    kind = (
        {"float_list": tf.train.FloatList(value=[value])}
        if isinstance(value, float)
        else {"int64_list": tf.train.Int64List(value=[value])}
    )
    feature = {"x": tf.train.Feature(**kind)}
    return tf.train.Example(features=tf.train.Features(feature=feature)).SerializeToString()


def write(path, values, compression=""):
    with tf.io.TFRecordWriter(str(path), tf.io.TFRecordOptions(compression)) as writer:
        for value in values:
            writer.write(example(value))
    return path


def flip(path, at):
    data = bytearray(path.read_bytes())
    data[at] ^= 0xFF
    path.write_bytes(data)


def cut(path, size):
    path.write_bytes(path.read_bytes()[:size])


def records_with_a_bad_byte(folder):
    path = write(folder / "a.tfrecord", range(5))
    flip(path, path.stat().st_size // 5 + 20)
    return lambda **o: estimator_io.tfrecord_input_fn(path, RECORD, **o)


def records_with_a_bad_length(folder):
    path = write(folder / "a.tfrecord", range(5))
    flip(path, path.stat().st_size // 5 + 2)
    return lambda **o: estimator_io.tfrecord_input_fn(path, RECORD, **o)


def records_cut_short(folder):
    path = write(folder / "a.tfrecord", range(5))
    cut(path, path.stat().st_size - 3)
    return lambda **o: estimator_io.tfrecord_input_fn(path, RECORD, **o)


def records_of_another_type(folder):
    path = write(folder / "a.tfrecord", [0, 1, 2.5, 3])
    return lambda **o: estimator_io.tfrecord_input_fn(path, RECORD, **o)


def records_refused_by_parse(folder):
    path = write(folder / "a.tfrecord", range(5))

    def parse(features):
        good = tf.debugging.Assert(tf.not_equal(features["x"], 3), ["three is refused"])
        with tf.control_dependencies([good]):
            return {"x": tf.identity(features["x"])}

    return lambda **o: estimator_io.tfrecord_input_fn(path, RECORD, parse=parse, **o)


def lines(folder, stream):
    path = folder / "a.csv"
    path.write_text("x,y\n0,1\n1\n2,1\n3z,1\n4,1\n")
    told = {"dtypes": {"x": "int64"}, "stream": stream}
    return lambda **o: estimator_io.csv_input_fn(path, **told, **o)


def rows_refused_by_parse(folder):
    def parse(features):
        number = tf.debugging.check_numerics(1.0 / (features["x"] - 2.0), "no inverse")
        with tf.control_dependencies([number]):
            return {"x": tf.identity(features["x"])}

    return lambda **o: estimator_io.input_fn({"x": np.arange(5.0)}, parse=parse, **o)


def python_refuses_a_row(folder):
    def python(x):
        if x == 2:
            raise ZeroDivisionError("not two")
        return x

    def parse(x):
        return {"x": tf.ensure_shape(tf.numpy_function(python, [x], tf.int64), [])}

    return lambda **o: estimator_io.input_fn(lambda: tf.data.Dataset.range(5), parse=parse, **o)


def generated_row_refused(folder):
    def rows():
        yield from ({"x": np.float32(x)} for x in range(5))

    def parse(features):
        return {"x": tf.debugging.check_numerics(1.0 / (features["x"] - 2.0), "no inverse")}

    return lambda **o: estimator_io.generator_input_fn(rows, parse=parse, **o)


# What is skipped: how it is named, the fields of its entry, and the rows that are left.
CASES = {
    "record, data": (records_with_a_bad_byte, [("record 1 ", {"record": 1})], [0, 2, 3, 4]),
    "record, length": (records_with_a_bad_length, [("record 1 ", {"record": 1})], [0]),
    "record, cut": (records_cut_short, [("record 4 ", {"record": 4})], [0, 1, 2, 3]),
    "record, type": (records_of_another_type, [("record 2 ", {"record": 2})], [0, 1, 3]),
    "record, parse": (records_refused_by_parse, [("record 3 ", {"record": 3})], [0, 1, 2, 4]),
    "csv, indexed": (
        lambda folder: lines(folder, False),
        [("line 3", {"line": 3, "offset": 8}), ("line 5", {"line": 5})],
        [0, 2, 4],
    ),
    "csv, stream": (
        lambda folder: lines(folder, True),
        [("line 3", {"line": 3}), ("line 5", {"line": 5})],
        [0, 2, 4],
    ),
    "array, parse": (rows_refused_by_parse, [("row 2 ", {"row": 2})], [0, 1, 3, 4]),
    "function, Python": (python_refuses_a_row, [("row 2 ", {"row": 2})], [0, 1, 3, 4]),
    "generator, parse": (generated_row_refused, [("row 2 ", {"row": 2})], [-0.5, -1, 1, 0.5]),
}


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("case", CASES)
def test_the_others_arrive_and_what_is_skipped_is_counted_and_listed(tmp_path, draw, case, how):
    make, skipped, left = CASES[case]
    log = tmp_path / "skipped.jsonl"
    fn = make(tmp_path)(batch_size=3, on_error="skip", skipped_log=log)
    batches = draw(lambda: fn("eval"), how)
    assert [x for batch in batches for x in batch["x"].tolist()] == left
    assert [len(batch["x"]) for batch in batches[:-1]] == [3] * (len(batches) - 1)
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert len(entries) == len(skipped)
    for entry, (_, fields) in zip(entries, skipped, strict=True):
        assert fields.items() <= entry.items()
        assert entry["error"]
        assert entry["time"]


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("case", CASES)
def test_a_bad_row_is_an_error_and_the_first_one_is_found(tmp_path, draw, case, how):
    make, skipped, _ = CASES[case]
    index = {"index": False} if case.startswith("record") else {}
    fn = make(tmp_path)(batch_size=2, **index)
    with pytest.raises(tf.errors.OpError):
        draw(lambda: fn("eval"), how)
    if how == "eager":
        found = fn.find_fault()
    else:
        with tf.Graph().as_default():
            found = fn.find_fault()
    assert skipped[0][0] in found
    if case.startswith(("record", "csv")):
        assert str(tmp_path / "a.") in found


def test_no_fault_is_found_where_there_is_none():
    assert estimator_io.input_fn(np.arange(5), parse=lambda x: x + 1).find_fault() is None


@pytest.fixture
def pictures(tmp_path):
    """Ten pictures, the fourth cut behind a good header, the seventh without a byte."""
    for at, source in enumerate(sorted(DRAWINGS.rglob("*.jpg"))[:10]):
        data = source.read_bytes()
        data = {3: data[: len(data) // 2], 6: b""}.get(at, data)
        (tmp_path / f"{at}.jpg").write_bytes(data)
    return str(tmp_path / "*.jpg")


def test_a_row_at_which_a_worker_process_fails_is_found():
    def parse(x):
        if x == 13:
            raise ValueError("thirteen")
        return np.float32(x)

    fn = estimator_io.input_fn(np.arange(20), parse=parse, batch_size=4, processes=1)
    assert re.fullmatch(r"row 13 \(from 0\): .*ValueError: thirteen", fn.find_fault())


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_pictures_cut_short_are_named_or_skipped(tmp_path, draw, pictures, how):
    options = {"size": (8, 8), "labels": None, "batch_size": 4}
    fn = estimator_io.image_input_fn(pictures, **options)
    with pytest.raises(tf.errors.OpError):
        draw(lambda: fn("eval"), how)
    assert "3.jpg" in fn.find_fault()
    log = tmp_path / "skipped.jsonl"
    skipping = {"on_error": "skip", "skipped_log": log, "key": "path"}
    fn = estimator_io.image_input_fn(pictures, **options, **skipping)
    batches = draw(lambda: fn("eval"), how)
    left = [key.decode() for batch in batches for key in batch["path"]]
    assert left == [str(tmp_path / f"{at}.jpg") for at in (0, 1, 2, 4, 5, 7, 8, 9)]
    assert [len(batch["image"]) for batch in batches] == [4, 4]
    whole = estimator_io.image_input_fn(left, **options)
    for one, other in zip(batches, draw(lambda: whole("eval"), how), strict=True):
        np.testing.assert_array_equal(one["image"], other["image"])
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    assert [entry["file"] for entry in entries] == [str(tmp_path / f"{at}.jpg") for at in (3, 6)]


def test_recordings_cut_short_are_named_or_skipped(tmp_path, draw):
    for at, source in enumerate(sorted(SPOKEN.rglob("*.wav"))[:5]):
        data = source.read_bytes()
        (tmp_path / f"{at}.wav").write_bytes(data[: len(data) // 2] if at == 2 else data)
    options = {"labels": None, "length": 100, "batch_size": 5}
    fn = estimator_io.audio_input_fn(str(tmp_path / "*.wav"), **options)
    with pytest.raises(tf.errors.OpError, match=r"2\.wav"):
        draw(lambda: fn("eval"))
    (batch,) = draw(lambda: fn.replace(on_error="skip", key=True)("eval"))
    assert [key[-5:] for key in batch["key"].tolist()] == [
        b"0.wav",
        b"1.wav",
        b"3.wav",
        b"4.wav",
    ]


def write_table(path):
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    numbers = [None if x == 3 else x for x in range(30)]
    table = pa.table({"x": list(range(30)), "n": numbers})
    told = {"row_group_size": 10, "compression": "none", "use_dictionary": False}
    pq.write_table(table, path, **told)
    return pq.ParquetFile(path).metadata.row_group(1).column(0).data_page_offset


def test_a_damaged_row_group_and_a_missing_value_are_named_or_skipped(tmp_path, draw):
    path, log = tmp_path / "a.parquet", tmp_path / "skipped.jsonl"
    page = write_table(path)
    for at in range(page, page + 12):
        flip(path, at)
    fn = estimator_io.parquet_input_fn(path, columns=["x"], batch_size=7)
    with pytest.raises(tf.errors.OpError, match=r"a\.parquet', row group 1"):
        draw(lambda: fn("eval"))
    skipping = estimator_io.parquet_input_fn(
        path, batch_size=7, key=True, on_error="skip", skipped_log=log
    )
    batches = draw(lambda: skipping("eval"))
    left = [x for x in range(30) if x != 3 and x // 10 != 1]
    assert [x for batch in batches for x in batch["x"].tolist()] == left
    keys = [key.decode() for batch in batches for key in batch["key"]]
    assert keys == [f"{path}#{x // 10}/{x}" for x in left]
    entries = [json.loads(line) for line in log.read_text().splitlines()]
    found = {(e["row_group"], e["row"]): e["error"] for e in entries}  # read in parallel
    assert sorted(found) == [(0, 3), (1, 10)]
    assert "all its rows are lost" in found[1, 10]


@pytest.mark.parametrize(
    ("count", "how"), [(1, "eager"), (64, "eager"), (70, "eager"), (64, "graph")]
)
def test_a_file_that_ends_within_the_head_of_a_record_is_listed(tmp_path, draw, how, count):
    whole = write(tmp_path / "whole.tfrecord", range(count)).read_bytes()
    for more in (0, 1, 8, 11):
        paths = [tmp_path / f"{more}.tfrecord", write(tmp_path / "b.tfrecord", [99])]
        paths[0].write_bytes(whole + whole[:more])
        log = tmp_path / f"{more}.jsonl"
        options = {"batch_size": 100, "on_error": "skip", "skipped_log": log}
        fn = estimator_io.tfrecord_input_fn(paths, RECORD, **options)
        [batch] = draw(lambda fn=fn: fn("eval"), how)
        assert batch["x"].tolist() == [*range(count), 99]
        entries = log.read_text().splitlines() if log.exists() else []
        found = [json.loads(line) for line in entries]
        expected = [(str(paths[0]), count, len(whole))] if more else []
        assert [(one["file"], one["record"], one["offset"]) for one in found] == expected
        plain = estimator_io.tfrecord_input_fn(paths, RECORD, batch_size=2, index=False)
        fault = plain.find_fault()
        assert (fault is None) == (more == 0)
        assert fault is None or f"record {count} " in fault


@pytest.mark.parametrize("compression", ["GZIP", "ZLIB"])
def test_behind_damage_a_compressed_file_is_lost_and_said_so(tmp_path, draw, compression):
    path = write(tmp_path / "a.tfrecord", range(1000), compression)
    cut(path, path.stat().st_size // 2)
    log = tmp_path / "skipped.jsonl"
    options = {"compression": compression, "batch_size": 100}
    fn = estimator_io.tfrecord_input_fn(path, RECORD, **options)
    with pytest.raises(tf.errors.OpError):
        draw(lambda: fn("eval"))
    assert re.search(r"a\.tfrecord', record \d+", fn.find_fault())
    batches = draw(lambda: fn.replace(on_error="skip", skipped_log=log)("eval"))
    read = [x for batch in batches for x in batch["x"].tolist()]
    assert read == list(range(len(read)))
    assert 100 < len(read) < 1000
    (entry,) = [json.loads(line) for line in log.read_text().splitlines()]
    assert entry["record"] == len(read)
    assert "rest of the file" in entry["error"]


def test_more_than_max_skipped_rows_stop_the_program(tmp_path, draw):
    path = write(tmp_path / "a.tfrecord", [0, 1.5, 2, 3.5, 4, 5.5])
    fn = estimator_io.tfrecord_input_fn(path, RECORD, batch_size=2, on_error="skip", max_skipped=2)
    with pytest.raises(tf.errors.OpError, match=r"More than max_skipped=2 .* record 5"):
        draw(lambda: fn("eval"))
    again = fn.replace(max_skipped=3, epochs=3)
    rows = [x for batch in draw(lambda: again("train")) for x in batch["x"].tolist()]
    assert sorted(rows) == sorted([0, 2, 4] * 3)  # each bad row counts once, not once an epoch


@pytest.mark.parametrize("mode", ["train", "eval", "infer"])
def test_a_source_of_bad_rows_alone_is_an_error_with_their_number(tmp_path, mode):
    path = write(tmp_path / "a.tfrecord", [0.5, 1.5, 2.5])
    fn = estimator_io.tfrecord_input_fn(path, RECORD, batch_size=2, on_error="skip")
    with pytest.raises(NoDataError, match="3 rows cannot be read and were skipped"):
        fn.dataset(mode)


def test_the_order_is_that_of_the_rows_that_are_left_at_any_parallelism(tmp_path, draw):
    values = [x + 0.5 if x % 7 == 0 else x for x in range(60)]
    files = [write(tmp_path / f"{at}.tfrecord", values[at::3]) for at in range(3)]
    flip(files[1], files[1].stat().st_size // 20 * 4 + 14)
    options = {"batch_size": 8, "seed": 5, "epochs": 2, "on_error": "skip"}
    orders = [
        draw(
            lambda calls=calls: estimator_io.tfrecord_input_fn(
                files, RECORD, num_parallel_calls=calls, **options
            )("train")
        )
        for calls in (1, 3)
    ]
    rows = [[x for batch in order for x in batch["x"].tolist()] for order in orders]
    assert rows[0] == rows[1]
    assert sorted(rows[0][: len(rows[0]) // 2]) == sorted(rows[0][len(rows[0]) // 2 :])


def test_numbers_of_rows_are_not_known_where_some_may_be_skipped():
    fn = estimator_io.input_fn({"x": np.arange(6.0)}, batch_size=2, epochs=1)
    assert (fn.num_rows, fn.num_batches()) == (6, 3)
    for options in (
        {"on_error": "skip"},
        {"filter": lambda f: f["x"] > 1.0},
        {"flat_map": tf.data.Dataset.from_tensors},
    ):
        changed = fn.replace(**options)
        assert (changed.num_rows, changed.num_batches()) == (None, None)
        assert changed.dataset("eval").cardinality() == tf.data.UNKNOWN_CARDINALITY
        assert len(list(changed.dataset("eval"))) == (2 if "filter" in options else 3)


def test_rows_that_may_be_skipped_are_not_sent(tmp_path):
    options = {"service": "local", "position": "restart", "batch_size": 2}
    with pytest.raises(OptionError, match=r"service=.*do not go together yet"):
        rows_refused_by_parse(tmp_path)(on_error="skip", **options)


def test_keyed_rows_are_not_sent(tmp_path):
    options = {"service": "local", "position": "restart", "batch_size": 2}
    with pytest.raises(OptionError, match=r"key='key' and service=.*do not go together yet"):
        rows_refused_by_parse(tmp_path)(key=True, **options)


KEYED = {
    "records": lambda folder, **o: estimator_io.tfrecord_input_fn(
        write(folder / "a.tfrecord", range(23)), RECORD, **o
    ),
    "lines": lambda folder, **o: estimator_io.text_input_fn(text_lines(folder, 23), **o),
    "pictures": lambda folder, **o: estimator_io.image_input_fn(
        str(DRAWINGS / "**" / "*.jpg"), size=(4, 4), **o
    ),
    "arrays": lambda folder, **o: estimator_io.input_fn(
        {"x": np.arange(23)}, parse=lambda row: {"y": row["x"] * 2}, **o
    ),
}


def text_lines(folder, count):
    path = folder / "a.txt"
    path.write_text("".join(f"line {at}\n" for at in range(count)))
    return path


# How a graph is read has nothing to do with where a row comes from.
@pytest.mark.parametrize("cache", ["memory", "folder"])
@pytest.mark.parametrize(
    ("kind", "how"), [*((kind, "eager") for kind in KEYED), ("records", "graph")]
)
def test_keys_are_the_same_with_a_cache(tmp_path, draw, kind, cache, how):
    place = "memory" if cache == "memory" else str(tmp_path / "store")
    options = {"batch_size": 5, "key": "name", "seed": 3, "epochs": 2, "shard": (1, 2)}
    plain = KEYED[kind](tmp_path, **options)
    kept = plain.replace(cache=place)
    expected = {mode: draw(lambda mode=mode: plain(mode), how) for mode in ("train", "eval")}
    for mode in ("train", "eval", "train"):
        assert expected[mode]
        found = draw(lambda mode=mode: kept(mode), how)
        for one, other in zip(expected[mode], found, strict=True):
            tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_the_printed_program_gives_keys_where_the_pipeline_caches(tmp_path):
    fn = KEYED["records"](tmp_path, batch_size=5, key=True, cache="memory", seed=1)
    names = {}
    exec(fn.source_code("eval"), names)
    made = [batch["key"].numpy().tolist() for batch in names["make_dataset"]()]
    assert made == [batch["key"].numpy().tolist() for batch in fn.dataset("eval")]


def test_a_stream_that_is_cached_gives_no_keys(tmp_path):
    path = write(tmp_path / "a.tfrecord.gz", range(5), "GZIP")
    with pytest.raises(OptionError, match=r"key='key' and cache='memory'[\s\S]*a stream"):
        estimator_io.tfrecord_input_fn(
            path, RECORD, compression="GZIP", key=True, cache="memory", batch_size=2
        )


def test_the_first_skipped_row_is_logged_and_none_is_listed_twice(tmp_path, draw, caplog):
    fn = records_of_another_type(tmp_path)(batch_size=2, on_error="skip")
    draw(lambda: fn("eval"))
    draw(lambda: fn("eval"))
    assert [r.message for r in caplog.records if r.name == "estimator_io"] == [
        f"1 rows skipped so far, the last one {str(tmp_path / 'a.tfrecord')!r}, record 2 (from 0):"
        " Key: x. Data types don't match. Data type: float but expected type: int64"
        " (skipped_log=… would list them)"
    ]


def test_the_printed_program_skips_too(tmp_path):
    fn = rows_refused_by_parse(tmp_path)(batch_size=4, on_error="skip")
    names = {}
    exec(fn.source_code("eval"), names)
    made = names["make_dataset"](np.arange(5.0), fn.options.parse)
    assert [batch["x"].tolist() for batch in made.as_numpy_iterator()] == [[0, 1, 3, 4]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"on_error": "ignore"}, "on_error is unknown. Received: 'ignore'"),
        ({"max_skipped": 5}, "nothing is skipped"),
        ({"on_error": "skip", "max_skipped": -1}, "max_skipped must be a whole number"),
        ({"key": 3}, "key must be the name of a feature"),
    ],
)
def test_impossible_options_are_refused(options, words):
    with pytest.raises(OptionError) as caught:
        estimator_io.input_fn({"x": np.arange(3.0)}, batch_size=1, **options)
    assert words in str(caught.value)
