"""TFRecord files by index: the order, the index files, and what damage is told."""

import dataclasses
import os
import struct

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError
from estimator_io.position.rules import next_run
from tests.pipeline.test_position import started, terms

SPEC = {"x": tf.io.FixedLenFeature([2], tf.float32), "y": tf.io.VarLenFeature(tf.int64)}


def firsts(batches):
    return [int(x) for features in batches for x in features["x"][:, 0]]


def densified(features):
    return {"x": features["x"], "y": tf.sparse.to_dense(features["y"], default_value=-1)}


def spans(path):
    """Returns (offset, size) of each record, by the format's own words."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 0
    while at < len(data):
        size = struct.unpack("<Q", data[at : at + 8])[0] + 16
        found.append((at, size))
        at += size
    return found


def flip(path, at):
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)
        file.seek(at)
        file.write(bytes([byte[0] ^ 1]))


def test_the_default_is_an_index_and_compressed_or_many_files_are_a_stream(write_records):
    path = write_records("a.tfrecord", range(7))
    fn = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=2)
    assert fn.num_rows == 7
    assert "7 records of 1 TFRecord files, indexed" in repr(fn)
    assert "all 7 rows by index, no buffer" in repr(fn)
    zipped = write_records("b.tfrecord", range(7), "GZIP")
    for files, options in [([path] * 201, {}), (zipped, {"compression": "GZIP"})]:
        stream = estimator_io.tfrecord_input_fn(files, SPEC, batch_size=2, **options)
        assert stream.num_rows is None
    assert estimator_io.tfrecord_input_fn([path] * 201, SPEC, batch_size=2, index=True).num_rows


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("row_by_row", [False, True])
def test_the_values_are_those_of_the_stream(draw, write_records, how, row_by_row):
    files = [write_records(f"{i}.tfrecord", range(i * 9, i * 9 + 9)) for i in range(3)]
    options = {"batch_size": 4, "interleave": 1, "batch_map": densified}
    if row_by_row:
        options["parse"] = lambda features: features
    fns = [
        estimator_io.tfrecord_input_fn(files, SPEC, index=index, **options)
        for index in (True, False)
    ]
    one, other = (draw(fn.for_mode("eval"), how) for fn in fns)
    assert len(one) == len(other) == 7
    for a, b in zip(one, other, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, a, b)


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_every_epoch_is_a_whole_permutation_of_all_files(draw, write_records, how):
    files = [write_records(f"{i}.tfrecord", range(i * 50, i * 50 + 50)) for i in range(4)]
    fn = estimator_io.tfrecord_input_fn(files, SPEC, batch_size=16, epochs=2, seed=5)
    rows = firsts(draw(lambda: fn("train"), how))
    assert sorted(rows[:200]) == sorted(rows[200:]) == list(range(200))
    assert rows[:200] != rows[200:]
    # Uniform over the whole set: the first 40 rows come from all files, not from a buffer's.
    assert len({row // 50 for row in rows[:40]}) == 4
    again = fn.replace(num_parallel_calls=3, threads=3, prefetch=0)
    assert firsts(draw(lambda: again("train"), how)) == rows


def test_split_and_shard_are_by_row_and_complete(draw, write_records):
    path = write_records("a.tfrecord", range(60))
    parts = [
        estimator_io.tfrecord_input_fn(path, SPEC, batch_size=8, split=(part, 0.7))
        for part in ("train", "validation")
    ]
    rows = [firsts(draw(fn.for_mode("eval"))) for fn in parts]
    assert sorted(rows[0] + rows[1]) == list(range(60))
    assert 30 < len(rows[0]) < 54
    whole = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=8)
    shards = []
    for worker in range(3):
        context = tf.distribute.InputContext(num_input_pipelines=3, input_pipeline_id=worker)
        shards.append(firsts(draw(lambda c=context: whole("eval", None, None, c), "graph")))
    assert sorted(row for shard in shards for row in shard) == list(range(60))
    assert [len(shard) for shard in shards] == [20, 20, 20]


@pytest.mark.parametrize("shuffle", [True, False])
def test_training_that_goes_on_reads_no_record_that_it_passes_over(write_records, shuffle):
    path = write_records("a.tfrecord", range(40))
    fn = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=5, epochs=1, seed=3, shuffle=shuffle)
    whole = [firsts([batch]) for batch in fn("train").as_numpy_iterator()]
    for row in whole[0] + whole[1]:  # reading one of them would be an error
        offset, size = spans(path)[row]
        flip(path, offset + size - 5)
    about = terms(batch_size=5, epochs=1, rows_per_epoch=40)
    run = dataclasses.replace(next_run([], 0, about), from_step=2, rows=10, batches=2)
    assert [firsts([batch]) for batch in started(fn, run).as_numpy_iterator()] == whole[2:]


def test_the_program_it_prints_gives_the_same_rows(draw, write_records):
    path = write_records("a.tfrecord", range(20))
    fn = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=8, seed=1, epochs=1)
    code = fn.source_code("train")
    assert "estimator_io" not in code
    scope = {}
    exec(code, scope)
    assert firsts(draw(scope["make_dataset"])) == firsts(draw(fn.for_mode("train")))


@pytest.mark.parametrize("place", ["beside", "folder"])
def test_an_index_file_is_kept_and_is_the_one_of_tfrecord2idx(tmp_path, write_records, place):
    path = write_records("a.tfrecord", range(6))
    index = "beside" if place == "beside" else tmp_path / "kept" / "here"
    options = {"batch_size": 6, "index": index}
    estimator_io.tfrecord_input_fn(path, SPEC, **options)
    where = path + ".idx" if place == "beside" else str(index / "a.tfrecord.idx")
    with open(where) as file:
        lines = [tuple(map(int, line.split())) for line in file]
    assert lines == spans(path)
    folder = os.path.dirname(where)
    assert not [name for name in os.listdir(folder) if name.endswith(".partial")]
    before = os.stat(where).st_mtime_ns
    fn = estimator_io.tfrecord_input_fn(path, SPEC, **options)
    assert os.stat(where).st_mtime_ns == before  # it was read
    assert firsts(fn.dataset("eval").as_numpy_iterator()) == list(range(6))


def test_an_index_file_of_another_tool_is_read_instead_of_walking(write_records, monkeypatch):
    path = write_records("a.tfrecord", range(6))
    with open(path + ".index", "w") as file:
        file.writelines(f"{offset} {size}\n" for offset, size in spans(path))
    from estimator_io.ops import indexed_records

    def walk(content, *, file):
        raise AssertionError("the file was walked")

    monkeypatch.setattr(indexed_records, "record_offsets", walk)
    fn = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=6, index="beside")
    assert fn.num_rows == 6


@pytest.mark.parametrize("kind", ["older", "other size", "gap", "negative", "no numbers", "empty"])
def test_an_index_file_that_does_not_fit_is_made_anew(write_records, kind):
    path = write_records("a.tfrecord", range(6))
    lines = [f"{offset} {size}\n" for offset, size in spans(path)]
    kept = {
        "other size": lines[:-1],
        "gap": [*lines[:2], *lines[3:]],
        "negative": ["0 -40\n", f"-40 {os.path.getsize(path) + 40}\n"],
        "no numbers": ["__import__('os')\n"],
        "empty": [],
    }.get(kind, lines)
    with open(path + ".idx", "w") as file:
        file.writelines(kept)
    if kind == "older":
        os.utime(path + ".idx", (1, 1))
    fn = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=6, index="beside")
    assert firsts(fn.dataset("eval").as_numpy_iterator()) == list(range(6))
    with open(path + ".idx") as file:
        assert file.readlines() == lines


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_flipped_byte_names_the_file_and_the_record(draw, write_records, how):
    good, bad = write_records("good.tfrecord", range(5)), write_records("bad.tfrecord", range(5))
    offset, size = spans(bad)[1]
    flip(bad, offset + size - 6)
    fn = estimator_io.tfrecord_input_fn([good, bad], SPEC, batch_size=3)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=r"bad\.tfrecord'.*record 1 \(from 0\)"
    ):
        draw(lambda: fn("eval"), how)


def test_a_damaged_length_and_a_cut_file_are_errors_before_training(write_records):
    path = write_records("a.tfrecord", range(5))
    offset, _ = spans(path)[3]
    flip(path, offset)
    with pytest.raises(SourceError, match=r"a\.tfrecord' is damaged at record 3 \(from 0\)"):
        estimator_io.tfrecord_input_fn(path, SPEC, batch_size=1)
    for cut in (1, 20, spans(write_records("whole.tfrecord", [1, 2]))[1][1] - 5):
        path = write_records("cut.tfrecord", range(5))
        with open(path, "r+b") as file:
            file.truncate(os.path.getsize(path) - cut)
        with pytest.raises(SourceError, match=r"cut\.tfrecord' is .*record 4 \(from 0\)"):
            estimator_io.tfrecord_input_fn(path, SPEC, batch_size=1)


def test_a_file_that_is_cut_while_it_is_read_is_an_error_and_no_crash(draw, write_records):
    path = write_records("a.tfrecord", range(50))
    fn = estimator_io.tfrecord_input_fn(path, SPEC, batch_size=5)
    os.truncate(path, 100)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"a\.tfrecord' is damaged"):
        draw(lambda: fn("eval"))


def test_checksums_are_those_of_tensorflow_at_every_length(tmp_path):
    """TensorFlow writes what is read: records of 0 to 70 bytes and one of 1 MB, shuffled."""
    records = [os.urandom(size) for size in (*range(71), 1 << 20)]
    path = str(tmp_path / "a.tfrecord")
    with tf.io.TFRecordWriter(path) as writer:
        for record in records:
            writer.write(record)
    fn = estimator_io.tfrecord_input_fn(path, None, batch_size=9, epochs=1, seed=2)
    assert [r for b in fn("eval").as_numpy_iterator() for r in b.tolist()] == records
    shuffled = [r for b in fn("train").as_numpy_iterator() for r in b.tolist()]
    assert shuffled != records
    assert sorted(shuffled) == sorted(records)


def test_empty_files_are_passed_over_and_nothing_at_all_is_an_error(write_records):
    empty, full = write_records("empty.tfrecord", []), write_records("full.tfrecord", [1, 2])
    fn = estimator_io.tfrecord_input_fn([empty, full, empty], SPEC, batch_size=2)
    assert firsts(fn.dataset("eval").as_numpy_iterator()) == [1, 2]
    with pytest.raises(NoDataError, match="None of the 1 TFRecord files holds a record"):
        estimator_io.tfrecord_input_fn(empty, SPEC, batch_size=1, index=True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"index": 3}, "index is no choice. Received: 3"),
        ({"index": ""}, "index is no choice"),
        ({"index": True, "compression": "GZIP"}, "contradicts compression='GZIP'"),
        ({"index": "beside", "compression": "GZIP"}, "contradicts compression='GZIP'"),
    ],
)
def test_impossible_choices_are_refused(write_records, options, words):
    path = write_records("a.tfrecord", range(3))
    with pytest.raises(OptionError) as caught:
        estimator_io.tfrecord_input_fn(path, SPEC, batch_size=1, **options)
    assert words in str(caught.value)
