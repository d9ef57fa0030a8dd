"""Rows of legacy pipelines in a store: the same order, each made once."""

from __future__ import annotations

import contextlib
import uuid
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from estimator_io import OptionError, accelerate

v1 = tf.compat.v1
Dataset: Any = tf.data.Dataset


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Twelve files, of which the name tells the content."""
    names = [tmp_path / f"{number}.txt" for number in range(12)]
    for number, name in enumerate(names):
        name.write_text(f"{number}")
    return [str(name) for name in names]


def read(function: Any) -> list[Any]:
    with tf.Graph().as_default(), v1.Session() as session:
        v1.set_random_seed(2)
        result = function()
        if isinstance(result, (tf.data.Dataset, v1.data.Dataset)):
            iterator: Any = v1.data.make_initializable_iterator(result)
            session.run(iterator.initializer)
            result = iterator.get_next()
        session.run(v1.tables_initializer())
        found = []
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                found.append(session.run(result).tolist())
        return found


def input_fn_of(files: list[str], log: Path) -> Any:
    """Returns an input_fn that leaves a file in a folder for each row that it makes."""
    log.mkdir(exist_ok=True)
    folder = str(log)

    def note(name: bytes) -> bytes:
        Path(folder, uuid.uuid4().hex).touch()
        return name

    def content(name: Any) -> Any:
        name = tf.ensure_shape(tf.numpy_function(note, [name], tf.string), [])
        return tf.strings.to_number(tf.io.read_file(name))

    return lambda: Dataset.from_tensor_slices(files).shuffle(12).repeat(3).map(content).batch(5)


def made(log: Path) -> int:
    """Returns how many rows were made since the last call."""
    found = list(log.iterdir())
    for one in found:
        one.unlink()
    return len(found)


def plain(files: list[str], factor: float = 1.0) -> Any:
    def content(name: Any) -> Any:
        return tf.strings.to_number(tf.io.read_file(name)) * factor

    return lambda: Dataset.from_tensor_slices(files).shuffle(12).repeat(3).map(content).batch(5)


@pytest.mark.parametrize("where", ["memory", "folder"])
def test_order_and_rows_stay_and_later_calls_make_none(
    files: list[str], tmp_path: Path, where: str
) -> None:
    expected = read(plain(files))
    log = tmp_path / "log"
    cache = where if where == "memory" else str(tmp_path / "store")
    function = accelerate(input_fn_of(files, log), cache=cache)
    assert read(function) == expected
    assert made(log) >= 12
    assert read(function) == expected
    assert made(log) == 0
    assert any(change.done.startswith("cache in") for change in function.changes())


@pytest.mark.parametrize("kind", ["dropped remainder", "shuffled rows", "two takers"])
def test_batches_of_kept_rows_are_those_of_the_program(files: list[str], kind: str) -> None:
    def input_fn() -> Any:
        rows = Dataset.from_tensor_slices(files).repeat(3)
        rows = rows.map(lambda name: (name, tf.strings.to_number(tf.io.read_file(name))))
        if kind == "shuffled rows":
            rows = rows.shuffle(7, seed=3)
        if kind == "two takers":
            return Dataset.zip((rows.batch(5), rows.batch(5))).map(lambda a, b: (a[0], b[1]))
        return rows.batch(5, drop_remainder=kind == "dropped remainder")

    def numbers(result: Any) -> Any:
        return lambda: result().map(lambda name, number: number)

    function = accelerate(numbers(input_fn), cache="memory")
    expected = read(numbers(input_fn))
    assert [read(function) for _ in range(2)] == [expected] * 2
    assert len(expected) == (7 if kind == "dropped remainder" else 8)


def test_another_batch_size_is_kept_to_where_rows_are_kept(files: list[str]) -> None:
    function = accelerate(plain(files), cache="memory", batch_size=6)
    expected = [row for batch in read(plain(files)) for row in batch]
    for _ in range(2):
        found = read(function)
        assert [len(batch) for batch in found] == [6] * 6
        assert [row for batch in found for row in batch] == expected


def test_another_program_code_or_file_is_told_from_what_is_kept(
    files: list[str], tmp_path: Path
) -> None:
    cache = str(tmp_path / "store")
    read(accelerate(plain(files), cache=cache))
    assert read(accelerate(plain(files, 2.0), cache=cache)) == read(plain(files, 2.0))
    Path(files[3]).write_text("300")
    changed = read(accelerate(plain(files), cache=cache))
    assert changed == read(plain(files))
    assert any(300.0 in batch for batch in changed)


def test_outside_of_graphs_rows_are_kept_too(files: list[str], tmp_path: Path) -> None:
    log = tmp_path / "log"
    function = accelerate(input_fn_of(files, log), cache="memory")
    first = sorted(np.concatenate(list(function.dataset().as_numpy_iterator())).tolist())
    assert first == sorted([float(number) for number in range(12)] * 3)
    made(log)
    again = sorted(np.concatenate(list(function.dataset().as_numpy_iterator())).tolist())
    assert (again, made(log)) == (first, 0)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: Dataset.range(9).map(lambda x: x).batch(3), "from_tensor_slices"),
        (lambda: Dataset.from_tensor_slices([1, 2]).batch(2), "no map of single rows"),
    ],
)
def test_a_pipeline_without_a_place_for_a_cache_says_so(make: Any, words: str) -> None:
    (first, *_) = accelerate(make, cache="memory").changes()
    assert not first.changed
    assert words in first.why


def test_a_cache_that_is_no_folder_is_refused() -> None:
    with pytest.raises(OptionError, match="local or mounted folder"):
        accelerate(lambda: None, cache="gs://bucket/store")
