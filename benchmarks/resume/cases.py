"""The pipelines that are interrupted: one for each way in which rows are passed over."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

import estimator_io
from estimator_io.pipeline.input_fn import StagedInputFn

__all__ = ["BATCH_SIZES", "CASES", "input_fn", "write_records"]

ROWS = 23  # not a multiple of any batch size in use, so that batches run across epochs
CASES = ("index", "records", "filter", "cache", "length", "generator")
# Batches by length have one size for good; in the others each process takes another.
BATCH_SIZES = {case: (4,) if case == "length" else (3, 4, 5) for case in CASES}


def input_fn(case: str, folder: str, batch_size: int) -> StagedInputFn:
    """Returns the input function of one case; rows carry noise that shows a wrong seed."""
    options: dict[str, Any] = {"batch_size": batch_size, "seed": 7, "augment": noisy}
    if case == "records":
        spec = {"row": tf.io.FixedLenFeature([], tf.int64)}
        files = os.path.join(folder, "*.tfrecord")
        return estimator_io.tfrecord_input_fn(
            files, spec, parse=lambda features: features["row"], epochs=50, shuffle=5, **options
        )
    if case == "generator":
        return estimator_io.generator_input_fn(numbers, epochs=50, shuffle=9, **options)
    if case == "length":
        options |= {
            "bucket_boundaries": [3],
            "element_length": lambda row: tf.cast(row // 1_000_000 % 5, tf.int32),
            "epochs": 50,
        }
    if case == "filter":
        options |= {"filter": lambda row: row % 3 > 0, "epochs": 50}
    if case == "cache":
        options |= {"cache": "memory"}
    return estimator_io.input_fn(np.arange(ROWS), **options)


def numbers() -> Iterator[int]:
    """Yields the row numbers."""
    yield from range(ROWS)


def noisy(row: Any, seed: Any) -> Any:
    """Returns the row number in the millions, with noise below."""
    return row * 1_000_000 + tf.random.stateless_uniform([], seed, 0, 1_000_000, tf.int64)


def write_records(folder: str) -> None:
    """Writes the rows as three TFRecord files."""
    for part in range(3):
        with tf.io.TFRecordWriter(os.path.join(folder, f"{part}.tfrecord")) as writer:
            for row in range(part, ROWS, 3):
                value = tf.train.Feature(int64_list=tf.train.Int64List(value=[row]))
                features = tf.train.Features(feature={"row": value})
                writer.write(tf.train.Example(features=features).SerializeToString())
