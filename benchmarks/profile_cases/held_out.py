"""Cases that no constant of the profile was chosen by: files, pictures, text, and mixed work."""

from __future__ import annotations

import functools
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.profile_cases.cases import BATCH, MS, Case
from benchmarks.profile_cases.work import dataset

FILES, RECORDS, RECORD_BYTES = 8, 256, 16 << 10
PICTURE, COLUMNS = (320, 240, 3), 8


@functools.cache
def _folder() -> Any:
    return tempfile.TemporaryDirectory(prefix="profile-cases-")


@functools.cache
def _compressed() -> list[str]:
    """Returns compressed TFRecord files, whose unpacking takes the time."""
    random = np.random.default_rng(0)
    paths = []
    for number in range(FILES):
        path = Path(_folder().name) / f"{number}.tfrecord.gz"
        with tf.io.TFRecordWriter(str(path), "GZIP") as writer:
            for _ in range(RECORDS):
                writer.write(random.integers(0, 16, RECORD_BYTES, np.uint8).tobytes())
        paths.append(str(path))
    return paths


def _one_compressed_file_after_the_other() -> Any:
    files = tf.data.Dataset.from_tensor_slices(_compressed())
    return files.flat_map(lambda path: tf.data.TFRecordDataset(path, "GZIP")).batch(64)


@functools.cache
def _pictures() -> np.ndarray:
    random = np.random.default_rng(0)
    coarse = random.integers(0, 255, (64, PICTURE[0] // 8, PICTURE[1] // 8, 3), np.uint8)
    large = coarse.repeat(8, axis=1).repeat(8, axis=2)
    return np.array([tf.io.encode_jpeg(picture).numpy() for picture in large])


def _decoded(text: Any) -> Any:
    picture = tf.io.decode_jpeg(text, channels=3)
    return tf.cast(tf.image.random_flip_left_right(picture), tf.float32) / 255.0


def _lines() -> Any:
    text = [",".join(str(row * column) for column in range(COLUMNS)) for row in range(4096)]

    def parse(line: Any) -> Any:
        return tf.io.decode_csv(line, [0.0] * COLUMNS)

    return tf.data.Dataset.from_tensor_slices(text).map(parse).batch(512)


def _numpy(work: Any) -> Any:
    def stage(x: Any) -> Any:
        y = tf.numpy_function(work, [x], x.dtype)
        y.set_shape(x.shape)
        return y

    return stage


def _sorts(value: Any) -> Any:
    """Computes some milliseconds in NumPy, which lets go of Python's lock meanwhile."""
    numbers = np.arange(20_000, dtype=np.float32)[::-1] * value[0]
    for _ in range(4):
        numbers = np.sort(numbers * -1.0, kind="heapsort")
    return value


def _waits_and_sorts(value: Any) -> Any:
    time.sleep(6 * MS)
    return _sorts(value)


def _product(x: Any) -> Any:
    square = tf.fill([384, 384], tf.reduce_sum(x) * 1e-9 + tf.random.uniform([]))
    return x + tf.linalg.matmul(square, square)[0, 0] * 1e-9


HELD_OUT = [
    Case(
        "compressed files one after the other",
        _one_compressed_file_after_the_other,
        1 * MS,
        "input-bound",
        ("flat_map",),
        "cpu",
    ),
    Case(
        "pictures decoded and flipped at random",
        lambda: tf.data.Dataset.from_tensor_slices(_pictures()).map(_decoded).batch(BATCH),
        1 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
    Case("lines parsed one by one", _lines, 0.5 * MS, "input-bound", ("map",), "cpu"),
    Case(
        "NumPy that lets go of the lock",
        lambda: dataset().map(_numpy(_sorts)).batch(BATCH),
        1 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
    Case(
        "half waiting, half computing",
        lambda: dataset().map(_numpy(_waits_and_sorts)).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
    Case(
        "matrix products at random",
        lambda: dataset().map(_product).batch(BATCH).prefetch(1),
        1 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
]
