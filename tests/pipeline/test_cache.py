"""The cache folder: shared, invalidated by what it depends on, and not stopped by a lock."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.pipeline.identity import UnhashableError, digest


@pytest.fixture
def counted(tmp_path):
    """Returns (files, parse, count): parse adds a factor, and count says how often it ran."""
    log = tmp_path / "log"
    log.touch()
    files = []
    for number in range(6):
        path = tmp_path / f"{number}.txt"
        path.write_text(str(number))
        files.append(str(path))

    def make_parse(factor):
        name = str(log)

        def parse(path):
            def read(value):
                with open(name, "a") as file:
                    file.write("x")
                with open(value.decode()) as file:
                    return np.int64(int(file.read()) * factor)

            return tf.ensure_shape(tf.numpy_function(read, [path], tf.int64), [])

        return parse

    return files, make_parse, lambda: len(log.read_text())


def rows(fn, mode="eval"):
    return sorted(int(row) for batch in fn(mode).as_numpy_iterator() for row in batch)


def test_calls_and_copies_share_what_was_parsed(counted, tmp_path):
    files, make_parse, count = counted
    folder = str(tmp_path / "cache")
    for _ in range(3):
        fn = estimator_io.input_fn(files, parse=make_parse(10), cache=folder, batch_size=4)
        assert rows(fn) == [0, 10, 20, 30, 40, 50]
    assert count() == 6


def test_another_constant_in_parse_gives_new_values(counted, tmp_path):
    files, make_parse, count = counted
    folder = str(tmp_path / "cache")
    for factor in (10, 20, 10):
        fn = estimator_io.input_fn(files, parse=make_parse(factor), cache=folder, batch_size=4)
        assert rows(fn) == [factor * i for i in range(6)]
    assert count() == 12


def test_a_changed_file_gives_new_values(counted, tmp_path):
    files, make_parse, count = counted
    folder = str(tmp_path / "cache")
    fn = estimator_io.input_fn(files, parse=make_parse(1), cache=folder, batch_size=4)
    assert rows(fn) == [0, 1, 2, 3, 4, 5]
    with open(files[0], "w") as file:
        file.write("77")
    assert rows(fn) == [1, 2, 3, 4, 5, 77]
    assert count() == 12


def test_training_and_evaluation_share_a_folder_and_may_run_at_once(counted, tmp_path):
    files, make_parse, _ = counted
    options = {"parse": make_parse(1), "cache": str(tmp_path / "cache"), "batch_size": 2}
    fn = estimator_io.input_fn(files, seed=1, **options)
    training = iter(fn("train"))
    next(training)
    assert rows(fn) == [0, 1, 2, 3, 4, 5]
    other = iter(fn("train"))  # a second writer beside the first
    seen = [int(row) for _ in range(3) for row in next(other)]
    assert sorted(seen) == [0, 1, 2, 3, 4, 5]


def test_the_lock_of_a_killed_writer_stops_nobody(counted, tmp_path):
    files, make_parse, _ = counted
    fn = estimator_io.input_fn(
        files, parse=make_parse(1), cache=str(tmp_path / "cache"), batch_size=4
    )
    fn("eval")
    (folder,) = (tmp_path / "cache").iterdir()
    (folder / "rows_0.lockfile").write_text("left behind")
    assert rows(fn) == [0, 1, 2, 3, 4, 5]
    assert rows(fn) == [0, 1, 2, 3, 4, 5]


def test_a_drawn_seed_does_not_make_the_cache_unusable_to_the_next_run(counted, tmp_path):
    files, make_parse, count = counted
    for _ in range(2):
        fn = estimator_io.input_fn(
            files, parse=make_parse(1), cache=str(tmp_path / "c"), batch_size=6, epochs=2
        )
        assert rows(fn, "train") == sorted(2 * [0, 1, 2, 3, 4, 5])
    assert count() == 6


def test_what_cannot_be_compared_is_kept_for_one_call_with_a_warning(counted, tmp_path, caplog):
    files, make_parse, count = counted
    inner = make_parse(1)

    class Parser:
        def parse(self, path):
            return inner(path)

    for _ in range(2):
        fn = estimator_io.input_fn(
            files, parse=Parser().parse, cache=str(tmp_path / "c"), batch_size=4
        )
        assert rows(fn) == [0, 1, 2, 3, 4, 5]
    assert count() == 12
    assert "cannot be compared with later runs" in caplog.text


def test_a_folder_that_cannot_be_made_is_an_error(tmp_path):
    file = tmp_path / "file"
    file.write_text("")
    fn = estimator_io.input_fn(np.arange(3), cache=str(file / "below"), batch_size=1)
    with pytest.raises(estimator_io.OptionError, match="no folder that can be written"):
        fn("eval")


def helper(x):
    return x + CONSTANT


CONSTANT = 1


def calls_helper(x):
    return helper(x)


def test_digests_tell_apart_what_a_function_does(monkeypatch):
    def adder(n):
        return lambda x: x + n

    assert digest(adder(1)) == digest(adder(1))
    assert digest(adder(1)) != digest(adder(2))
    assert digest(lambda x: x + 1) != digest(lambda x: x - 1)
    assert digest({"a": np.arange(3)}) != digest({"a": np.arange(4)})
    assert digest(tf.io.FixedLenFeature([2], tf.float32)) != digest(
        tf.io.FixedLenFeature([2], tf.int64)
    )
    before = digest(calls_helper)
    monkeypatch.setitem(globals(), "CONSTANT", 2)
    assert digest(calls_helper) != before


def test_what_has_no_content_to_compare_has_no_digest():
    with pytest.raises(UnhashableError, match="object of type object"):
        digest(object())
