"""Why does the step wait? A profile of an input function that reads as many people write it.

    python examples/why_it_waits.py

reads drawings from a simulated network disk (each read waits 20 ms), one after the other. The
profile names the stage and its line, says what to change, tries it, and tells what it brought.
"""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import tensorflow as tf

import estimator_io

DRAWINGS = Path(__file__).resolve().parent / "data" / "drawings"
STEP_SECONDS = 0.01


def read(path: bytes) -> bytes:
    time.sleep(0.02)  # the network
    return Path(path.decode()).read_bytes()


def decode(picture: Any) -> Any:
    pixels = tf.io.decode_jpeg(tf.ensure_shape(picture, []), channels=1)
    return tf.cast(tf.image.resize(pixels, (32, 32)), tf.uint8)


def input_fn() -> tf.data.Dataset:
    dataset = tf.data.Dataset.list_files(str(DRAWINGS / "*" / "*.jpg"))
    dataset = dataset.map(lambda path: tf.numpy_function(read, [path], tf.string))
    dataset = dataset.map(decode)
    return dataset.batch(8)


def main() -> None:
    report = estimator_io.profile(input_fn, step_seconds=STEP_SECONDS, seconds=5, apply=True)
    print(report)
    print(f"verdict {report.verdict.kind}, stage {report.verdict.stage}")
    print(f"first: {report.suggestions[0].name} at {report.suggestions[0].place}")


if __name__ == "__main__":
    main()
