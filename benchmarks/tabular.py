"""CSV, Parquet and generator input functions against the hand-written tf.data pipelines.

Reads the adult census (or the CSV files named on the command line, without a header) in batches
under training's shuffle, through each pipeline in turn, so that a busy machine slows all alike:

    python -m benchmarks.tabular path/to/adult.data

Prints rows per second of each pipeline, the median of the rounds, and the median of the ratios to
the best hand-written one of the same round.
"""

from __future__ import annotations

import argparse
import os
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import estimator_io

BATCH = 128
BUFFER = 10_000
Pipeline = Callable[[], tf.data.Dataset]


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("file", help="a CSV file without a header")
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--rows", type=int, default=30_000, help="rows a measurement")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        path = plain_copy(arguments.file, folder)
        groups = {
            "csv": csv_pipelines(path),
            "parquet": parquet_pipelines(path, folder),
            "generator": generator_pipelines(),
        }
        for kind, (rivals, ours) in groups.items():
            report(kind, rivals, ours, arguments.rounds, arguments.rows)


def plain_copy(path: str, folder: str) -> str:
    """Writes the file without blank lines and spaces, which make_csv_dataset does not take."""
    copy = os.path.join(folder, "plain.csv")
    with open(path, encoding="utf-8") as source, open(copy, "w", encoding="utf-8") as target:
        target.writelines(line.replace(", ", ",") for line in source if line.strip())
    return copy


def csv_pipelines(path: str) -> tuple[dict[str, Pipeline], dict[str, Pipeline]]:
    with open(path, encoding="utf-8") as file:
        first = file.readline().rstrip().split(",")
    names = [f"c{at}" for at in range(len(first))]
    kinds = [tf.int64 if field.isdigit() else tf.string for field in first]
    empty: list[Any] = [tf.constant([], kind) for kind in kinds]

    def columns(line: tf.Tensor) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
        features = dict(zip(names, tf.io.decode_csv(line, empty), strict=True))
        return features, features.pop(names[-1])

    def row_by_row() -> tf.data.Dataset:
        rows = tf.data.TextLineDataset(path).map(columns, num_parallel_calls=tf.data.AUTOTUNE)
        return rows.shuffle(BUFFER).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)

    def by_batch() -> tf.data.Dataset:
        lines = tf.data.TextLineDataset(path).shuffle(BUFFER).repeat().batch(BATCH)
        return lines.map(columns, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)

    def make_csv_dataset() -> tf.data.Dataset:
        return tf.data.experimental.make_csv_dataset(
            path,
            BATCH,
            column_names=names,
            column_defaults=kinds,
            label_name=names[-1],
            header=False,
            shuffle_buffer_size=BUFFER,
        )

    options: dict[str, Any] = {"label": names[-1], "columns": names, "batch_size": BATCH}
    options |= {"header": False, "dtypes": dict(zip(names, kinds, strict=True))}
    table = estimator_io.csv_input_fn(path, **options)
    stream = estimator_io.csv_input_fn(path, **options, stream=True)
    return (
        {"map, batch": row_by_row, "batch, map": by_batch, "make_csv_dataset": make_csv_dataset},
        {"csv_input_fn": table.dataset, "csv_input_fn, stream": stream.dataset},
    )


def parquet_pipelines(path: str, folder: str) -> tuple[dict[str, Pipeline], dict[str, Pipeline]]:
    import pyarrow.csv
    import pyarrow.parquet as pq

    options = pyarrow.csv.ReadOptions(autogenerate_column_names=True)
    table = pyarrow.csv.read_csv(path, read_options=options)
    file = os.path.join(folder, "rows.parquet")
    pq.write_table(table, file, row_group_size=4096)
    label = table.column_names[-1]
    spec = {
        name: tf.TensorSpec([None], tf.int64 if kind == "int64" else tf.string)
        for name, kind in zip(table.column_names, map(str, table.schema.types), strict=True)
    }

    def batches() -> Iterator[dict[str, np.ndarray]]:
        for batch in pq.ParquetFile(file).iter_batches(4096):
            yield {name: batch[name].to_numpy(zero_copy_only=False) for name in spec}

    def from_generator() -> tf.data.Dataset:
        rows = tf.data.Dataset.from_generator(batches, output_signature=spec).unbatch()
        return rows.shuffle(BUFFER).repeat().batch(BATCH).prefetch(tf.data.AUTOTUNE)

    ours = estimator_io.parquet_input_fn(file, label=label, batch_size=BATCH, shuffle=BUFFER)
    return {"from_generator": from_generator}, {"parquet_input_fn": ours.dataset}


def generator_pipelines() -> tuple[dict[str, Pipeline], dict[str, Pipeline]]:
    def rows() -> Iterator[tuple[dict[str, Any], int]]:
        for i in range(1 << 40):
            yield {"x": np.float32(i), "s": "text"}, i

    spec = (
        {"x": tf.TensorSpec([], tf.float32), "s": tf.TensorSpec([], tf.string)},
        tf.TensorSpec([], tf.int64),
    )

    def from_generator() -> tf.data.Dataset:
        made = tf.data.Dataset.from_generator(rows, output_signature=spec)
        return made.shuffle(BUFFER).batch(BATCH).prefetch(tf.data.AUTOTUNE)

    ours = estimator_io.generator_input_fn(rows, batch_size=BATCH)
    return {"from_generator": from_generator}, {"generator_input_fn": ours.dataset}


def rate(make: Pipeline, rows: int) -> float:
    """Returns rows per second of a pipeline, from the second batch on."""
    batches = iter(make())
    next(batches)
    began, count = time.perf_counter(), 0
    for batch in batches:
        count += len(tf.nest.flatten(batch)[0])
        if count >= rows:
            break
    return count / (time.perf_counter() - began)


def report(
    kind: str, rivals: dict[str, Pipeline], ours: dict[str, Pipeline], rounds: int, rows: int
) -> None:
    every = {**rivals, **ours}
    found: dict[str, list[float]] = {name: [] for name in every}
    for at in range(rounds + 1):
        for name, make in every.items():
            measured = rate(make, rows)
            if at:  # the first round warms up
                found[name].append(measured)
    best = max(rivals, key=lambda name: statistics.median(found[name]))
    for name in every:
        ratios = [one / other for one, other in zip(found[name], found[best], strict=True)]
        print(
            f"{kind:<10} {name:<22} {statistics.median(found[name]):>10,.0f} rows/s"
            f" {statistics.median(ratios):>6.2f} times {best}"
        )


if __name__ == "__main__":
    main()
