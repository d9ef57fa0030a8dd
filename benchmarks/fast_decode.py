"""How far apart pictures decoded fast and exactly are: `python -m benchmarks.fast_decode`.

Reads the drawings of examples/data (200 by 200 pixels, black lines on white: edges, where resizing
differs most) at several sizes, and compares three ways in units of [0, 255]: `image_input_fn` as it
is, the same with `fast_decode=True`, and tf.image.resize with `antialias=True`, which averages all
pixels that fall into one, as neither of the two others does in full.
"""

from __future__ import annotations

import argparse
import glob
import os
from collections.abc import Sequence

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import numpy as np
import tensorflow as tf

import estimator_io
from benchmarks.report import markdown_table

DRAWINGS = "examples/data/drawings/**/*.jpg"
SIZES = (200, 128, 96, 64, 48, 25)
HEADER = ("size", "fast - exact, mean", "most", "exact - averaged, mean", "fast - averaged, mean")


def read(files: Sequence[str], size: int, *, fast: bool) -> np.ndarray:
    """Returns all pictures: float32 [files, size, size, 3]."""
    made = estimator_io.image_input_fn(
        files, size=(size, size), labels=None, batch_size=len(files), fast_decode=fast
    )
    return next(made.dataset("eval").as_numpy_iterator())["image"]


def averaged(files: Sequence[str], size: int) -> np.ndarray:
    """Returns all pictures, resized with antialiasing."""
    decoded = [tf.io.decode_jpeg(tf.io.read_file(file), channels=3) for file in files]
    return np.stack([tf.image.resize(one, (size, size), antialias=True) for one in decoded])


def differences(files: Sequence[str], size: int) -> list[float]:
    """Returns the figures of `HEADER` behind the size."""
    exact, fast = read(files, size, fast=False), read(files, size, fast=True)
    average = averaged(files, size)
    apart = np.abs(fast - exact)
    means = (np.abs(exact - average).mean(), np.abs(fast - average).mean())
    return [float(apart.mean()), float(apart.max()), *map(float, means)]


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", help="JPEG files (default: the drawings)")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES, help="height and width")
    arguments = parser.parse_args(argv)
    files = arguments.files or sorted(glob.glob(DRAWINGS, recursive=True))
    rows = [
        [str(size), *(f"{value:.2f}" for value in differences(files, size))]
        for size in arguments.sizes
    ]
    print(markdown_table(HEADER, rows))


if __name__ == "__main__":
    main()
