"""How much a pass holds: counted, estimated from files, or said to be unknown, never too little."""

import numpy as np
import pytest
import tensorflow as tf

from estimator_io.profiling.changes.caching import cache
from estimator_io.profiling.context import Measured
from estimator_io.profiling.costs import costs_of
from estimator_io.profiling.flow import Flow
from estimator_io.profiling.machine import Machine
from estimator_io.profiling.model import Cores
from estimator_io.profiling.sizes import extent_of
from estimator_io.profiling.target import chain_of_target
from estimator_io.profiling.text import costs_of_change

RANGE = tf.data.Dataset.range
FILES, RECORDS, RECORD = 3, 4000, b"x" * 1000
HELD = FILES * RECORDS * len(RECORD)


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("records")
    paths = [str(folder / f"{number}.tfrecord") for number in range(FILES)]
    for path in paths:
        with tf.io.TFRecordWriter(path) as writer:
            for _ in range(RECORDS):
                writer.write(RECORD)
    return paths


def measured(target, seconds=0.3):
    chain = chain_of_target(target, "train", None)
    costs, samples = costs_of(chain, seconds)
    flow = Flow(0, None, None, 0.0, None, (), ())
    cores = Cores(2, 2.0)
    return Measured(target, chain, costs, samples, flow, Machine.here([]), cores, 1e-6, None)


def extent(target, kind="map", **options):
    found = measured(target, **options)
    at = max(n for n, step in enumerate(found.chain.steps) if step.kind == kind)
    return extent_of(found, at)


OF_FILES = {
    "one reader": tf.data.TFRecordDataset,
    "flat_map": lambda paths: tf.data.Dataset.from_tensor_slices(paths).flat_map(
        tf.data.TFRecordDataset
    ),
    "interleave": lambda paths: (
        tf.data.Dataset.list_files(paths)
        .shuffle(8)
        .interleave(tf.data.TFRecordDataset, cycle_length=2)
    ),
}


@pytest.mark.parametrize("name", OF_FILES)
def test_records_of_which_the_first_alone_were_read_are_as_large_as_their_files(files, name):
    found = extent(OF_FILES[name](files).map(lambda row: tf.io.decode_raw(row, tf.uint8)).batch(8))
    assert found.least
    assert found.bytes == pytest.approx(HELD, rel=0.01)
    assert "at least 12 MB in all by the sizes of the files" in found.told


def test_rows_behind_a_parsing_reader_are_not_counted_by_the_files(files):
    def parsed(path):
        return tf.data.TFRecordDataset(path).map(lambda row: tf.strings.length(row))

    found = extent(tf.data.Dataset.from_tensor_slices(files).flat_map(parsed), kind="flat_map")
    assert found.bytes is None
    assert "the files take 12 MB on the disk" in found.told
    assert "is not known" in found.told


def test_what_tensorflow_counts_is_exact():
    rows = RANGE(100_000).map(lambda x: tf.fill([100], x))
    assert extent(rows.batch(8)).bytes == 100_000 * 800
    assert extent(RANGE(1 << 40).take(500).map(lambda x: x)).bytes == 500 * 8
    assert extent(RANGE(500).repeat().map(lambda x: x)).bytes == 500 * 8
    assert not extent(rows.batch(8)).least


def test_what_was_read_to_its_end_is_counted_and_what_was_not_is_unknown():
    short = RANGE(10).flat_map(lambda x: RANGE(20))
    assert extent(short, kind="flat_map").bytes == 10 * 20 * 8
    found = extent(RANGE(10).flat_map(lambda x: RANGE(1_000_000)), kind="flat_map")
    assert found.bytes is None
    assert found.least

    def numbers():
        yield from range(50_000)

    generated = tf.data.Dataset.from_generator(
        numbers, output_signature=tf.TensorSpec([], tf.int64)
    )
    assert extent(generated, kind="flat_map").bytes is None


def test_a_cache_of_unknown_size_is_not_told_to_be_free(files):
    generated = RANGE(10).flat_map(lambda x: RANGE(1_000_000)).map(lambda x: x + 1).batch(8)
    for pipeline, words in (
        (generated, "memory, how much is not known"),
        (tf.data.TFRecordDataset(files).map(tf.strings.length).batch(8), "at least"),
    ):
        (one,) = cache(measured(pipeline))
        assert one.at_least
        (cost,) = costs_of_change(one)
        assert words in cost


def test_a_map_that_writes_is_not_cached():
    variable = tf.Variable(0, dtype=tf.int64)
    pipeline = RANGE(200).map(lambda x: x + variable.assign_add(1)).batch(8)
    (one,) = cache(measured(pipeline))
    assert one.edit == ".cache() behind Range"


def test_a_repeat_in_front_of_a_cache_is_moved_behind_it():
    (one,) = cache(measured(RANGE(500).repeat().map(lambda x: np.int64(2) * x).batch(8)))
    assert "with the repeat moved behind the cache" in one.edit
    assert one.memory_bytes == 500 * 8
