"""Other ways to keep what parse made, and the cost of filling."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import tensorflow as tf

from benchmarks.store.loaders import BATCH, Epoch, count, parse_of, store_input_fn
from benchmarks.store.pictures import SIDE

__all__ = ["decoded_records", "file_cache", "filling", "not_filling"]


def file_cache(files: Sequence[str], dtype: str, folder: Path) -> Epoch:
    """tf.data's own file cache, filled, read in order."""
    dataset = (
        tf.data.Dataset.from_tensor_slices(list(files))
        .map(parse_of(dtype), num_parallel_calls=tf.data.AUTOTUNE)
        .cache(str(folder / "file_cache"))
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    count(dataset)
    return lambda: count(dataset)


def decoded_records(files: Sequence[str], dtype: str, folder: Path) -> Epoch:
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
        .map(parse, num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda: count(dataset)


def filling(files: Sequence[str], dtype: str, fill: str, folder: Path) -> Epoch:
    """The first pass over an empty store, its Dataset built anew."""

    def epoch() -> int:
        with tempfile.TemporaryDirectory(dir=folder) as store:
            return count(store_input_fn(files, dtype, store, cache_fill=fill).dataset("train"))

    return epoch


def not_filling(files: Sequence[str], dtype: str) -> Epoch:
    """The same pipeline without a cache, its Dataset built anew."""
    return lambda: count(store_input_fn(files, dtype, None).dataset("train"))
