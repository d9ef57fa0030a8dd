"""The memory budget: buffers that shrink, caches that are refused, amounts as they are written."""

import logging
import os

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.errors import OptionError
from estimator_io.pipeline import memory, memory_limit
from estimator_io.pipeline.memory_limit import parse_bytes, spell_bytes, total_memory

ROW = 100_000  # floats: 400 kB


def stream(rows=6, floats=ROW, **options):
    """Rows of one size that come as a stream."""

    def make():
        return tf.data.Dataset.range(rows).map(lambda i: tf.fill([floats], tf.cast(i, tf.float32)))

    return estimator_io.input_fn(make, **{"batch_size": 1, "seed": 1, **options})


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (7, 7),
        ("7", 7),
        ("7B", 7),
        ("256MB", 256 * 10**6),
        ("1.5 gb", 1_500_000_000),
        ("2GiB", 2 << 30),
        ("3k", 3000),
        ("1TiB", 1 << 40),
    ],
)
def test_an_amount_of_memory_is_a_number_or_a_text(value, number):
    assert parse_bytes("memory_limit", value) == number


@pytest.mark.parametrize("value", [0, -1, True, 1.5, "", "GB", "12 XB", "-3MB", "0.1B", None, [1]])
def test_what_is_no_amount_of_memory_is_refused(value):
    with pytest.raises(OptionError, match=r"memory_limit is no amount.*'256MB' or '2GB'"):
        parse_bytes("memory_limit", value)


def test_an_amount_is_spelled_in_the_unit_that_people_use():
    spelled = [spell_bytes(number) for number in (999, 1500, 256_000_000, 12.6e9, 3e12, 5e15)]
    assert spelled == ["999 B", "1.5 kB", "256 MB", "13 GB", "3 TB", "5000 TB"]


@pytest.mark.parametrize(
    ("group", "files", "bytes_"),
    [
        ("0::/", {"sys/fs/cgroup/memory.max": "max\n"}, 8000 * 1024),
        ("0::/", {"sys/fs/cgroup/memory.max": "4096\n"}, 4096),
        ("0::/a/b", {"sys/fs/cgroup/a/memory.max": "5000\n"}, 5000),
        ("3:cpu,memory:/x", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "6000\n"}, 6000),
        ("3:cpu:/x", {"sys/fs/cgroup/memory/memory.limit_in_bytes": "6000\n"}, 8000 * 1024),
        ("", {}, 8000 * 1024),
    ],
)
def test_the_memory_of_a_container_counts_where_it_is_less(tmp_path, group, files, bytes_):
    meminfo = "MemTotal:  8000 kB\nMemFree: 1 kB\nMemAvailable:  5000 kB\n"
    files = {"proc/meminfo": meminfo, "proc/self/cgroup": group + "\n" if group else "", **files}
    for name, text in files.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert total_memory(str(tmp_path)) == bytes_
    assert memory_limit.available_memory(str(tmp_path)) == 5000 * 1024
    assert total_memory(str(tmp_path / "nowhere")) is None


def test_the_default_is_half_of_the_machine_whatever_is_free(monkeypatch):
    monkeypatch.setattr(memory_limit, "total_memory", lambda: 1000)
    assert memory_limit.default_limit() == 500
    monkeypatch.setattr(memory_limit, "total_memory", lambda: None)
    assert memory_limit.default_limit() is None


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_buffer_that_does_not_fit_is_made_smaller_with_one_warning(draw, caplog, how):
    # Half of 4 MB holds four rows of 400 kB: 10,000 were asked for.
    fn = stream(memory_limit="4MB", epochs=1)
    with caplog.at_level(logging.WARNING, "estimator_io"):
        batches = draw(lambda: fn("train"), how)
        draw(lambda: fn("train"), how)
    warnings = [record.message for record in caplog.records if "buffer" in record.message]
    assert len(warnings) == 1
    assert "holds 4 rows in place of 10,000" in warnings[0]
    assert "shuffle=4" in warnings[0]
    rows = [int(batch[0, 0]) for batch in batches]
    assert sorted(rows) == list(range(6))
    assert rows == [int(b[0, 0]) for b in draw(lambda: fn.replace(shuffle=4)("train"), how)]
    assert "a buffer of 4 rows" in repr(fn)


def test_a_buffer_may_be_given_in_bytes():
    fn = stream(shuffle="1.3MB", epochs=1)  # three rows and a bit
    given = fn.replace(shuffle=2)
    assert [int(b[0, 0]) for b in fn("train").as_numpy_iterator()] == [
        int(b[0, 0]) for b in given("train").as_numpy_iterator()
    ]
    assert fn.replace(shuffle=True).source_code() != fn.source_code() == given.source_code()


def test_bytes_of_rows_of_uneven_size_are_measured():
    texts = [b"x" * 10_000] * 8
    fn = estimator_io.generator_input_fn(lambda: iter(texts), batch_size=2, shuffle="45kB")
    rows = memory.shuffle_rows(fn.source, fn.options)
    assert rows == 4


def test_the_buffer_of_records_is_counted_as_they_are_stored(write_records):
    path = write_records("a.tfrecord", range(20))
    spec = {"x": tf.io.FixedLenFeature([2], tf.float32)}
    fn = estimator_io.tfrecord_input_fn(path, spec, batch_size=2, shuffle="1MB", index=False)
    size = os.path.getsize(path) / 20 - 16 + 200  # what frames a record in the file; a tensor
    assert 0.4e6 < memory.shuffle_rows(fn.source, fn.options) * size <= 1e6


def test_files_and_arrays_are_shuffled_without_a_buffer_whatever_the_limit():
    fn = estimator_io.input_fn(np.arange(1000), batch_size=10, memory_limit="100kB", epochs=1)
    assert sorted(np.concatenate(list(fn("train").as_numpy_iterator()))) == list(range(1000))
    assert "no buffer" in repr(fn)


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_a_memory_cache_keeps_the_rows_that_fit_and_the_others_are_made_again(
    draw, how, tmp_path, caplog
):
    made = tmp_path / "made"

    def parse(i):
        def note(number):
            with open(made, "a") as file:
                file.write(f"{number}\n")
            return np.full(1000, number)

        return tf.ensure_shape(tf.numpy_function(note, [i], tf.int64), [1000])

    fn = estimator_io.input_fn(
        np.arange(100), parse=parse, cache="memory", batch_size=10, memory_limit="400kB"
    )
    for _ in range(2):
        batches = draw(lambda: fn("eval"), how)
        assert np.concatenate(batches)[:, 0].tolist() == list(range(100))
    kept = 30  # rows of 8 kB in three quarters of the limit, a batch at a time
    assert len(made.read_text().split()) == 100 + 100 - kept
    assert "keeps no more rows" in caplog.text
    assert "cache about 820 kB" in repr(fn)


def test_a_memory_cache_takes_no_more_than_what_is_free_where_no_limit_is_given(monkeypatch):
    monkeypatch.setattr(memory_limit, "available_memory", lambda: 1000)
    fn = estimator_io.input_fn(np.arange(100), cache="memory", batch_size=10)
    assert memory_limit.Limit.of(fn.options).cache_room() == 750
    assert memory_limit.Limit.of(fn.replace(memory_limit="1GB").options).cache_room() == 750_000_000


def test_large_batches_are_prefetched_in_small_number_or_refused():
    fn = stream(batch_size=2, memory_limit="8MB")  # batches of 800 kB
    assert ".prefetch(2)" in _printed(fn)
    assert ".prefetch(2)" in _printed(fn.replace(prefetch=50))
    assert ".prefetch(1)" in _printed(fn.replace(prefetch=1))
    assert ".prefetch(tf.data.AUTOTUNE)" in _printed(fn.replace(memory_limit="8GB"))
    with pytest.raises(OptionError, match=r"A batch takes about 40 MB.*smaller batch_size"):
        fn.replace(batch_size=100)("eval")


def _printed(fn):
    fn("eval")  # the size of a batch is known when the pipeline was built
    return fn.source_code("eval")


def test_autotune_is_told_of_a_limit_that_was_given():
    fn = stream(memory_limit="4GB")
    budget = fn("eval").options().autotune.ram_budget
    assert budget == 10**9
    assert stream()("eval").options().autotune.ram_budget is None


def test_a_mixture_shares_its_limits_among_its_parts():
    parts = [stream(memory_limit="8MB"), stream(memory_limit="8MB")]
    mixed = estimator_io.mix(parts, batch_size=2, epochs=1, seed=3)
    rows = [int(row[0]) for batch in mixed("train").as_numpy_iterator() for row in batch]
    assert sorted(rows) == sorted([*range(6)] * 2)
    assert memory.shuffle_rows(parts[0].source, parts[0].options, parts=2) == 4
