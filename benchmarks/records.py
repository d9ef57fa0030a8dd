"""TFRecord input functions against the hand-written tf.data pipeline, in pairs.

Writes record files of several sizes, and reads each in batches under training's shuffle: by index,
as a stream, and as people write it (files, records through `shuffle(10_000)`, batches, one
parse_example a batch, prefetch):

    python -m benchmarks.records

Prints records per second of each, and the medians of the ratios in each pair to the hand-written
pipeline. Also prints the seconds that the walk over the lengths takes.
"""

from __future__ import annotations

import argparse
import functools
import os
import statistics
import tempfile
import time
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import estimator_io
from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.tabular import rate

BATCH = 128
BUFFER = 10_000
# Floats in a record, and records: 30 bytes, 2 kB, 60 kB.
SIZES = ((2, 100_000), (500, 50_000), (15_000, 4_000))
FILES = 8


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=15)
    arguments = parser.parse_args(argv)
    for floats, records in SIZES:
        with tempfile.TemporaryDirectory() as folder:
            files = write_files(folder, floats, records)
            report(files, floats, records, arguments.pairs)


def write_files(folder: str, floats: int, records: int) -> list[str]:
    numbers = np.random.default_rng(0)
    files = [os.path.join(folder, f"{at}.tfrecord") for at in range(FILES)]
    for file in files:
        with tf.io.TFRecordWriter(file) as writer:
            for row in numbers.random([records // FILES, floats], np.float32):
                feature = {
                    "x": tf.train.Feature(float_list=tf.train.FloatList(value=row)),
                    "y": tf.train.Feature(int64_list=tf.train.Int64List(value=[1])),
                }
                example = tf.train.Example(features=tf.train.Features(feature=feature))
                writer.write(example.SerializeToString())
    return files


def spec_of(floats: int) -> dict[str, Any]:
    return {
        "x": tf.io.FixedLenFeature([floats], tf.float32),
        "y": tf.io.FixedLenFeature([], tf.int64),
    }


def by_hand(files: list[str], spec: dict[str, Any]) -> tf.data.Dataset:
    def parse(records: tf.Tensor) -> tuple[dict[str, Any], Any]:
        features = dict(tf.io.parse_example(records, spec))
        return features, features.pop("y")

    names = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files)).repeat()
    read = names.interleave(
        tf.data.TFRecordDataset, cycle_length=len(files), num_parallel_calls=tf.data.AUTOTUNE
    )
    batches = read.shuffle(BUFFER).batch(BATCH)
    return batches.map(parse, num_parallel_calls=tf.data.AUTOTUNE).prefetch(tf.data.AUTOTUNE)


def report(files: list[str], floats: int, records: int, pairs: int) -> None:
    spec = spec_of(floats)
    options: dict[str, Any] = {"label": "y", "batch_size": BATCH}
    began = time.perf_counter()
    indexed = estimator_io.tfrecord_input_fn(files, spec, index=True, **options)
    walked = time.perf_counter() - began
    stream = estimator_io.tfrecord_input_fn(files, spec, index=False, **options)
    makers = {
        "by hand": functools.partial(by_hand, files, spec),
        "index": indexed.dataset,
        "stream": stream.dataset,
    }
    runs = {name: functools.partial(rate, make, records) for name, make in makers.items()}
    for run in runs.values():
        run()  # warms up
    found = run_pairs(runs, pairs)
    size = sum(map(os.path.getsize, files)) // records
    print(f"{records:,} records of {size:,} bytes, indexed in {walked:.2f} s")
    for name, rates in found.items():
        ratio = median_of_ratios(rates, found["by hand"])
        print(f"  {name:<8} {statistics.median(rates):>10,.0f} records/s, {ratio} of by hand")


if __name__ == "__main__":
    main()
