"""What it would cost that every error of a row names it: a guard in the parse map, row by row.

tf.data catches errors by `ignore_errors` alone. The guard therefore maps a Dataset of the one row,
and asserts, with the row's name, that an element came. Processor time of a row with the guard
against without, in pairs, for pictures, recordings and rows that cost nothing.

    python -m benchmarks.row_guard --pairs 5
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

BATCH = 50
# Rows of a measurement: about a tenth of a second each.
ROWS = {"JPEG 640x480": 150, "JPEG 200x200": 400, "WAV, 16,000 samples": 1000, "text": 5000}


def picture(folder: str, height: int, width: int) -> str:
    """Returns the path of a JPEG file of that size, of smooth noise."""
    noise = np.random.default_rng(0).random((height // 8, width // 8, 3)) * 255
    pixels = tf.cast(tf.image.resize(noise, (height, width)), tf.uint8)
    path = os.path.join(folder, f"{height}.jpg")
    tf.io.write_file(path, tf.io.encode_jpeg(pixels))
    return path


def recording(folder: str) -> str:
    """Returns the path of a WAV file."""
    samples = np.random.default_rng(0).random((16_000, 1)).astype(np.float32) - 0.5
    path = os.path.join(folder, "a.wav")
    tf.io.write_file(path, tf.audio.encode_wav(samples, 16_000))
    return path


def read_picture(path: Any) -> Any:
    pixels = tf.io.decode_image(tf.io.read_file(path), channels=3, expand_animations=False)
    pixels.set_shape([None, None, 3])
    return tf.image.resize(pixels, (128, 128))


def read_recording(path: Any) -> Any:
    samples, _ = tf.audio.decode_wav(tf.io.read_file(path), desired_samples=16_000)
    return samples[:, 0]


def guarded(parse: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Returns `parse` with an error that names the row where it fails."""
    spec = tf.data.Dataset.from_tensors("").map(parse).element_spec

    def named(path: Any) -> Any:
        dataset: Any = tf.data.Dataset
        one = dataset.from_tensors(path).map(lambda row: (True, parse(row))).ignore_errors()
        none = dataset.range(1).map(lambda _: (False, tf.zeros(spec.shape, spec.dtype)))
        good, element = one.concatenate(none).take(1).get_single_element()
        with tf.control_dependencies([tf.debugging.Assert(good, ["cannot be read:", path])]):
            return tf.identity(element)

    return named


def seconds_a_row(path: str, parse: Callable[[Any], Any], rows: int) -> float:
    """Returns the processor seconds of a row."""
    dataset = tf.data.Dataset.from_tensors(path).repeat(rows)
    dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE, deterministic=True)
    dataset = dataset.batch(BATCH).prefetch(1)
    for _ in dataset.take(1):
        pass
    began = time.process_time()
    for _ in dataset:
        pass
    return (time.process_time() - began) / rows


def main() -> None:
    """Prints the table of docs/bad_records.md."""
    parser = argparse.ArgumentParser(description="The cost of naming every row.")
    parser.add_argument("--pairs", type=int, default=5)
    pairs = parser.parse_args().pairs
    with tempfile.TemporaryDirectory() as folder:
        kinds = {
            "JPEG 640x480": (picture(folder, 480, 640), read_picture),
            "JPEG 200x200": (picture(folder, 200, 200), read_picture),
            "WAV, 16,000 samples": (recording(folder), read_recording),
            "text": ("some text", tf.strings.length),
        }
        for name, (path, parse) in kinds.items():
            both = [
                (seconds_a_row(path, parse, ROWS[name]), seconds_a_row(path, safe, ROWS[name]))
                for safe in [guarded(parse)] * pairs
            ]
            plain, safe = (1e6 * float(np.median(column)) for column in zip(*both, strict=True))
            ratios = sorted(guard / alone for alone, guard in both)
            print(
                f"{name}: {plain:.0f} us a row, {safe:.0f} with a guard, {ratios[0]:.2f} to"
                f" {ratios[-1]:.2f} times"
            )


if __name__ == "__main__":
    main()
