"""The ready factories, every option at its default beside what the case itself says."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

import estimator_io
from benchmarks.loaders.cases import Case
from benchmarks.loaders.data import COLUMNS, LABEL, NUMBERS, SAMPLES

__all__ = ["open_batches"]


def open_batches(
    loader: str, case: Case, files: list[str], *, shuffle: bool, workers: int
) -> Iterator[Any]:
    """Yields batches: endlessly in random order, or once in the order of the files."""
    del workers
    made = _input_fn(loader, case, files)
    return iter(made.dataset("train" if shuffle else "eval"))


def _input_fn(loader: str, case: Case, files: list[str]) -> Any:
    batch: dict[str, Any] = {"batch_size": case.batch_size}
    if case.kind == "csv":
        return estimator_io.csv_input_fn(files, label=LABEL, **batch)
    if case.kind == "tfrecord":
        spec = {
            name: tf.io.FixedLenFeature([], tf.int64 if name in NUMBERS else tf.string)
            for name in COLUMNS
        }
        return estimator_io.tfrecord_input_fn(files, spec, label=LABEL, **batch)
    if case.kind == "parquet":
        return estimator_io.parquet_input_fn(files, label=LABEL, **batch)
    if case.kind == "wav":
        return estimator_io.audio_input_fn(files, length=SAMPLES, **batch)
    if loader == "library accurate":
        return estimator_io.input_fn(files, labels="folder", parse=_accurate, **batch)
    fast: dict[str, Any] = {"fast_decode": True} if loader == "library fast" else {}
    return estimator_io.image_input_fn(files, size=(case.size, case.size), **fast, **batch)


def _accurate(path: Any, label: Any) -> Any:
    """Decodes bit by bit as PIL does, by the transform that TensorFlow does not take by default."""
    picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3, dct_method="INTEGER_ACCURATE")
    # All files are 200 by 200 pixels.
    return {"image": tf.cast(tf.ensure_shape(picture, [200, 200, 3]), tf.float32)}, label
