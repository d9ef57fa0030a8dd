"""Every input function of the table gives the same elements, accelerated, wherever it is read."""

from __future__ import annotations

import functools
import json
import shutil
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests import forks
from tests.legacy.table import CASES

# One process reads the whole table in one of these ways.
pytestmark = pytest.mark.timeout(1500)
WAYS = ("graph v2", "eager v2", "graph v1")


def write_files(folder: Path) -> None:
    import tensorflow as tf

    (folder / "a.txt").write_text("".join(f"{number}\n" for number in range(9)))
    (folder / "b.txt").write_text("".join(f"{number}.5\n" for number in range(6)))
    rows = "".join(f"{n},{n / 2},name{n % 3}\n" for n in range(10))
    (folder / "table.csv").write_text("a,b,name\n" + rows)
    picture = np.arange(16 * 16 * 3, dtype=np.uint8).reshape(16, 16, 3)
    (folder / "0.jpg").write_bytes(tf.io.encode_jpeg(picture).numpy())
    with tf.io.TFRecordWriter(str(folder / "rows.tfrecord")) as writer:
        for number in range(11):
            floats = tf.train.FloatList(value=[number, -number])
            ints = tf.train.Int64List(value=[number] * (number % 3))
            feature = {
                "x": tf.train.Feature(float_list=floats),
                "y": tf.train.Feature(int64_list=ints),
            }
            features = tf.train.Features(feature=feature)
            writer.write(tf.train.Example(features=features).SerializeToString())


@functools.cache
def report(way: str) -> dict[str, Any]:
    """Returns what one process found out about all functions."""
    folder = Path(tempfile.mkdtemp(prefix="legacy_table"))
    try:
        write_files(folder)
        words = ["-m", "tests.legacy.read_table", *way.split(), folder]
        done = forks.run(words, timeout=1400)
    finally:
        shutil.rmtree(folder)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads(done.stdout.rpartition("REPORT")[2])


def found(way: str, name: str) -> dict[str, Any]:
    result = report(way)[name]
    assert "error" not in result, result["error"]
    return result


READ = [
    (way, name) for way in WAYS for name in CASES if not (CASES[name].graph_only and "eager" in way)
]


def test_the_table_is_large_enough() -> None:
    assert len(CASES) >= 40


@pytest.mark.parametrize(("way", "name"), READ)
def test_elements_are_the_same_byte_for_byte(way: str, name: str) -> None:
    result = found(way, name)
    assert result["elements"] > 0
    assert result["same"]
    assert result["structure"] is True


@pytest.mark.parametrize("way", WAYS)
def test_only_what_must_be_left_as_it_is_is_left(way: str) -> None:
    left = {name for each, name in READ if each == way and found(way, name)["untouched"]}
    expected = {name for each, name in READ if each == way and CASES[name].untouched}
    if "v1" in way:
        expected |= {name for name in CASES if CASES[name].untouched_v1}
    assert left == expected


@pytest.mark.parametrize("way", ["graph v2", "graph v1"])
def test_no_data_is_left_in_the_graph(way: str) -> None:
    largest = {name: found(way, name)["largest"] for name in CASES if not CASES[name].untouched}
    assert {name: size for name, size in largest.items() if size > 1024} == {}
