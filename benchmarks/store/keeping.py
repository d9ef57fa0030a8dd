"""Other ways to keep what parse made, and the cost of filling."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from benchmarks.store.loaders import BATCH, Epoch, count, parse_of, store_input_fn
from benchmarks.store.pictures import SIDE

__all__ = ["decoded_records", "file_cache", "filling", "not_filling"]


def file_cache(files: Sequence[str], dtype: str, folder: Path, epochs: int) -> Epoch:
    """tf.data's own file cache, filled, read in order."""
    dataset = (
        tf.data.Dataset.from_tensor_slices(list(files))
        .map(parse_of(dtype), num_parallel_calls=tf.data.AUTOTUNE)
        .cache(str(folder / "file_cache"))
        .batch(BATCH)
    )
    count(dataset)
    passes = dataset.repeat(epochs).prefetch(tf.data.AUTOTUNE)
    return lambda: count(passes)


def decoded_records(files: Sequence[str], dtype: str, folder: Path, epochs: int) -> Epoch:
    """TFRecords of decoded elements, parsed one by one, shuffled in a buffer of all records."""
    path = str(folder / "decoded.tfrecord")
    elements = tf.data.Dataset.from_tensor_slices(list(files)).map(parse_of(dtype))
    with tf.io.TFRecordWriter(path) as writer:
        for element in elements:
            writer.write(element.numpy().tobytes())

    def parse(record: Any) -> Any:
        return tf.reshape(tf.io.decode_raw(record, dtype), [SIDE, SIDE, 3])

    dataset = (
        tf.data.TFRecordDataset(path)
        .shuffle(len(files))
        .repeat(epochs)
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda: count(dataset)


@contextlib.contextmanager
def filling(files: Sequence[str], dtype: str, fill: str, folder: Path) -> Iterator[tf.data.Dataset]:
    """Yields a Dataset over an empty store, which is gone afterwards."""
    with tempfile.TemporaryDirectory(dir=folder) as store:
        yield store_input_fn(files, dtype, store, cache_fill=fill).dataset("train")


@contextlib.contextmanager
def not_filling(files: Sequence[str], dtype: str) -> Iterator[tf.data.Dataset]:
    """Yields the Dataset of the same pipeline without a cache."""
    yield store_input_fn(files, dtype, None).dataset("train")
