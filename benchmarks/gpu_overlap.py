"""Whether copying to the GPU hides behind the step: `python -m benchmarks.gpu_overlap`.

Steps/s of one convolution over float32 images with device=None and device="auto", in pairs, and the
two alone: the step on a batch that stays on the GPU, and the copy of a batch. Without a GPU it
prints "no GPU" and ends.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.report import machine, spell_machine

ROWS, SIDE, BATCH = 512, 224, 128


def pipeline(device: str | None) -> Any:
    import estimator_io

    images = np.random.default_rng(0).random((ROWS, SIDE, SIDE, 3), np.float32)
    return estimator_io.input_fn({"x": images}, batch_size=BATCH, device=device).dataset()


def make_step() -> Callable[[Any], Any]:
    import tensorflow as tf

    with tf.device("/gpu:0"):
        kernel = tf.Variable(tf.random.normal([7, 7, 3, 64]))

    @tf.function
    def step(x: Any) -> Any:
        return tf.reduce_mean(tf.nn.conv2d(x, kernel, 2, "SAME"))

    return step


def steps_per_second(batches: Any, step: Callable[[Any], Any], steps: int) -> float:
    iterator = iter(batches)
    result = step(next(iterator)["x"])
    for _ in range(5):
        result = step(next(iterator)["x"])
    result.numpy()  # waits for the GPU
    begun = time.perf_counter()
    for _ in range(steps):
        result = step(next(iterator)["x"])
    result.numpy()
    return steps / (time.perf_counter() - begun)


def main() -> None:
    import tensorflow as tf

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    if not tf.config.list_physical_devices("GPU"):
        print("no GPU")
        return
    print(spell_machine(machine()))
    step = make_step()
    with tf.device("/gpu:0"):
        still = tf.random.normal([BATCH, SIDE, SIDE, 3])
    alone = steps_per_second(iter(lambda: {"x": still}, None), step, arguments.steps)
    with tf.device("/cpu:0"):
        host = tf.random.normal([BATCH, SIDE, SIDE, 3])

    def copied(x: Any) -> Any:
        with tf.device("/gpu:0"):
            return tf.reduce_mean(tf.identity(x)[:1, :1, :1])

    copies = steps_per_second(iter(lambda: {"x": host}, None), copied, arguments.steps)
    variants = {
        name: lambda device=device: steps_per_second(pipeline(device), step, arguments.steps)
        for name, device in (("host", None), ("device", "auto"))
    }
    rates = run_pairs(variants, arguments.pairs)
    print(f"step alone {alone:.1f}/s, copy alone {copies:.1f}/s")
    print(f"host {np.median(rates['host']):.1f}, device {np.median(rates['device']):.1f} steps/s")
    print(f"device / host: {median_of_ratios(rates['device'], rates['host'])}")
    most = min(alone, copies)
    print(f"of the slower of the two alone: {np.median(rates['device']) / most:.2f}")


if __name__ == "__main__":
    main()
