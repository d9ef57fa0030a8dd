"""The same input by hand, as TensorFlow's public guides teach it, with TensorFlow's rewrites on.

"tf.data: Build input pipelines" and "Better performance with the tf.data API" give the order of the
stages (shuffle, repeat, parallel map, batch, prefetch) and the vectorised map behind the batch;
"Load images", "Simple audio recognition", "Load CSV data" and "TFRecord" what the maps do.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from benchmarks.loaders.cases import Case
from benchmarks.loaders.data import COLUMNS, LABEL, NUMBERS, ROW_GROUP, SAMPLES, labels_of

__all__ = ["open_batches"]

_BUFFER = 10_000


def open_batches(
    loader: str, case: Case, files: list[str], *, shuffle: bool, workers: int
) -> Iterator[Any]:
    """Yields batches: endlessly in random order, or once in the order of the files."""
    del workers
    return iter(_PIPELINES[case.kind, loader](case, files, shuffle))


def _mixed(rows: Any, shuffle: bool, buffer: int = _BUFFER) -> Any:
    return rows.shuffle(buffer).repeat() if shuffle else rows


def _finished(rows: Any, case: Case) -> Any:
    return rows.batch(case.batch_size).prefetch(tf.data.AUTOTUNE)


def _files(case: Case, files: list[str], shuffle: bool, read: Callable[..., Any]) -> Any:
    rows = tf.data.Dataset.from_tensor_slices((files, labels_of(files)))
    rows = _mixed(rows, shuffle, len(files))
    return _finished(rows.map(read, num_parallel_calls=tf.data.AUTOTUNE), case)


def _jpeg(case: Case, files: list[str], shuffle: bool) -> Any:
    def read(path: Any, label: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return {"image": tf.image.resize(picture, [case.size, case.size])}, label

    def read_whole(path: Any, label: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        return {"image": tf.cast(picture, tf.float32)}, label

    # All files of kind "jpeg" are 200 by 200 pixels, which a script for them may rely on.
    whole = case.kind == "jpeg" and case.size == 200
    return _files(case, files, shuffle, read_whole if whole else read)


def _wav(case: Case, files: list[str], shuffle: bool) -> Any:
    def read(path: Any, label: Any) -> Any:
        audio, _ = tf.audio.decode_wav(
            tf.io.read_file(path), desired_channels=1, desired_samples=SAMPLES
        )
        return {"audio": tf.squeeze(audio, axis=-1)}, label

    return _files(case, files, shuffle, read)


_EMPTY_INT64 = [tf.constant([0], tf.int64) if name in NUMBERS else "" for name in COLUMNS]


def _columns(lines: Any) -> Any:
    features = dict(zip(COLUMNS, tf.io.decode_csv(lines, _EMPTY_INT64), strict=True))
    return features, features.pop(LABEL)


def _lines(files: list[str], shuffle: bool) -> Any:
    def one_file(file: Any) -> Any:
        return tf.data.TextLineDataset(file).skip(1)

    rows = tf.data.Dataset.from_tensor_slices(files)
    if not shuffle:
        return rows.flat_map(one_file)
    return rows.interleave(one_file, num_parallel_calls=tf.data.AUTOTUNE)


def _csv_by_row(case: Case, files: list[str], shuffle: bool) -> Any:
    rows = _mixed(_lines(files, shuffle), shuffle)
    return _finished(rows.map(_columns, num_parallel_calls=tf.data.AUTOTUNE), case)


def _csv_by_batch(case: Case, files: list[str], shuffle: bool) -> Any:
    batches = _mixed(_lines(files, shuffle), shuffle).batch(case.batch_size)
    return batches.map(_columns, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _make_csv(case: Case, files: list[str], shuffle: bool) -> Any:
    return tf.data.experimental.make_csv_dataset(
        files,
        case.batch_size,
        column_defaults=_EMPTY_INT64,
        label_name=LABEL,
        num_epochs=None if shuffle else 1,
        shuffle=shuffle,
        shuffle_buffer_size=_BUFFER,
        num_parallel_reads=len(files) if shuffle else 1,
    )


_FEATURES = {
    name: tf.io.FixedLenFeature([], tf.int64 if name in NUMBERS else tf.string) for name in COLUMNS
}


def _records(files: list[str], shuffle: bool) -> Any:
    at_once = tf.data.AUTOTUNE if shuffle else None
    return _mixed(tf.data.TFRecordDataset(files, num_parallel_reads=at_once), shuffle)


def _records_by_row(case: Case, files: list[str], shuffle: bool) -> Any:
    def parse(record: Any) -> Any:
        features = tf.io.parse_single_example(record, _FEATURES)
        return features, features.pop(LABEL)

    rows = _records(files, shuffle).map(parse, num_parallel_calls=tf.data.AUTOTUNE)
    return _finished(rows, case)


def _records_by_batch(case: Case, files: list[str], shuffle: bool) -> Any:
    def parse(records: Any) -> Any:
        features = tf.io.parse_example(records, _FEATURES)
        return features, features.pop(LABEL)

    batches = _records(files, shuffle).batch(case.batch_size)
    return batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def _parquet(case: Case, files: list[str], shuffle: bool) -> Any:
    import pyarrow.parquet as pq

    kinds = {name: tf.int64 if name in NUMBERS else tf.string for name in COLUMNS}
    spec = {name: tf.TensorSpec([None], kind) for name, kind in kinds.items()}

    def tables() -> Iterator[Any]:
        for file in files:
            for batch in pq.ParquetFile(file).iter_batches(ROW_GROUP):
                yield {name: batch[name].to_numpy(zero_copy_only=False) for name in COLUMNS}

    def split(features: Any) -> Any:
        features = dict(features)
        return features, features.pop(LABEL)

    rows = tf.data.Dataset.from_generator(tables, output_signature=spec).unbatch()
    return _finished(_mixed(rows.map(split), shuffle), case)


def _frame(case: Case, files: list[str], shuffle: bool) -> Any:
    import pandas as pd

    frame = pd.concat([pd.read_parquet(file) for file in files], ignore_index=True)
    columns = {
        name: frame[name].to_numpy() if name in NUMBERS else frame[name].to_numpy(object)
        for name in COLUMNS
    }
    labels = columns.pop(LABEL)
    tensors: Any = (columns, labels)
    rows = tf.data.Dataset.from_tensor_slices(tensors)
    return _finished(_mixed(rows, shuffle), case)


_PIPELINES: dict[tuple[str, str], Callable[[Case, list[str], bool], Any]] = {
    ("jpeg", "tf.data"): _jpeg,
    ("photo", "tf.data"): _jpeg,
    ("wav", "tf.data"): _wav,
    ("csv", "tf.data"): _csv_by_row,
    ("csv", "tf.data by batch"): _csv_by_batch,
    ("csv", "make_csv_dataset"): _make_csv,
    ("tfrecord", "tf.data"): _records_by_row,
    ("tfrecord", "tf.data by batch"): _records_by_batch,
    ("parquet", "tf.data"): _parquet,
    ("parquet", "tf.data of a frame"): _frame,
}
