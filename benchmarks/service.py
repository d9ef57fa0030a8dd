"""What a tf.data service costs and gains: `python -m benchmarks.service [live|rate|scale]`.

live: the first step of the second train() call, with and without service="local", where filling
dominates (a shuffle buffer of prepared rows). rate: batches/s of 8 MB through service="local"
against the direct pipeline, in pairs. scale: rows/s of a preparation that waits, with 1, 2 and 4
worker processes. Each is a ratio within one run.
"""

from __future__ import annotations

import argparse
import contextlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.pairs import median_of_ratios, run_pairs
from benchmarks.report import machine, spell_machine

WAIT_MS = 50  # of a row: far above what a processor spends on it
MEGABYTES = 8
BUFFER_ROWS = 4000


def waiting(features: Any, milliseconds: int = WAIT_MS) -> Any:
    """Waits as a row from slow storage does, in TensorFlow, so that it can run on any worker."""
    import tensorflow as tf
    from tensorflow.python.data.experimental.ops import testing

    sleep: Any = testing.sleep(milliseconds * 1000)
    row = tf.data.Dataset.from_tensors(features["x"]).apply(sleep)
    return {"x": tf.ensure_shape(row.get_single_element(), [])}


def first_steps(service: str | None) -> list[float]:
    """Returns the seconds to the first step of two train() calls of an Estimator."""
    import tensorflow as tf

    import estimator_io

    estimator_io.compat.install()
    times: list[float] = []

    class Clock(tf.compat.v1.train.SessionRunHook):
        def before_run(self, run_context: Any) -> None:
            self.before = getattr(self, "before", time.perf_counter())

        def after_run(self, run_context: Any, run_values: Any) -> None:
            if not self.done:
                times.append(time.perf_counter() - self.before)
            self.done = True

        done = False

    def model_fn(features: Any, labels: Any, mode: str) -> Any:
        v1: Any = tf.compat.v1
        loss = tf.reduce_mean(tf.cast(features["x"], tf.float32)) * v1.get_variable("w", [])
        step = v1.train.get_or_create_global_step()
        train = v1.train.GradientDescentOptimizer(0.0).minimize(loss, global_step=step)
        return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)

    fn = estimator_io.dataset_input_fn(
        lambda: (
            tf.data.Dataset.range(1 << 40)
            .map(lambda x: waiting({"x": x}, 2), num_parallel_calls=4)
            .shuffle(BUFFER_ROWS)  # behind preparation, as scripts have it
        ),
        shuffle=False,
        batch_size=16,
        position="restart",
        service=service,
    )
    with tempfile.TemporaryDirectory() as folder:
        estimator = tf.estimator.Estimator(model_fn, folder)
        for _ in range(2):
            estimator.train(fn, steps=5, hooks=[Clock()])
    fn.close()
    return times


def rate(service: str | None, batches: int = 60) -> float:
    """Returns batches/s of float32 [64, 32768], 8 MB, from rows of a file's size."""
    import tensorflow as tf

    import estimator_io

    def rows() -> Any:
        row = tf.random.stateless_uniform([MEGABYTES * (1 << 20) // 4 // 64], (1, 2))
        return tf.data.Dataset.from_tensors({"x": row}).repeat()

    fn = estimator_io.dataset_input_fn(
        rows, shuffle=False, batch_size=64, position="restart", service=service
    )
    iterator = iter(fn.dataset())
    for _ in range(10):
        next(iterator)
    begun = time.perf_counter()
    for _ in range(batches):
        next(iterator)
    seconds = time.perf_counter() - begun
    del iterator
    fn.close()
    return batches / seconds


@contextlib.contextmanager
def cluster(workers: int) -> Iterator[str]:
    """A dispatcher and `workers` worker processes on this host."""
    with contextlib.ExitStack() as stack:
        address = stack.enter_context(_process("dispatcher"))
        for _ in range(workers):
            stack.enter_context(_process("worker", "--dispatcher", address))
        yield address


@contextlib.contextmanager
def _process(*arguments: str) -> Iterator[str]:
    command = [sys.executable, "-m", "estimator_io.cli.main", "serve", *arguments]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().split()[-1]
        finally:
            process.kill()


def rows_per_second(address: str, seconds: float) -> float:
    """Returns rows/s of a preparation that waits, 4 rows at once on each worker."""
    import estimator_io

    fn = estimator_io.input_fn(
        {"x": np.arange(100_000)},
        parse=waiting,
        batch_size=8,
        num_parallel_calls=4,
        position="restart",
        service=f"grpc://{address}",
    )
    iterator = iter(fn.dataset())
    warm = time.perf_counter() + seconds / 2
    while time.perf_counter() < warm:
        next(iterator)
    rows, begun = 0, time.perf_counter()
    while time.perf_counter() - begun < seconds:
        rows += len(next(iterator)["x"])
    return rows / (time.perf_counter() - begun)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("parts", nargs="*", default=["live", "rate", "scale"])
    parser.add_argument("--pairs", type=int, default=6)
    parser.add_argument("--seconds", type=float, default=10.0)
    arguments = parser.parse_args()
    print(spell_machine(machine()))
    if "live" in arguments.parts:
        direct, live = first_steps(None), first_steps("local")
        print(
            f"first step of the second call: direct {direct[1]:.2f} s, live {live[1]:.2f} s,"
            f" {direct[1] / live[1]:.1f} times sooner; first calls {direct[0]:.2f}, {live[0]:.2f} s"
        )
    if "rate" in arguments.parts:
        variants = {"direct": lambda: rate(None), "live": lambda: rate("local")}
        rates = run_pairs(variants, arguments.pairs)
        ratio = median_of_ratios(rates["live"], rates["direct"])
        print(f"{MEGABYTES} MB batches, live / direct: {ratio}", flush=True)
    if "scale" in arguments.parts:
        found = {}
        for workers in (1, 2, 4):
            with cluster(workers) as address:
                found[workers] = rows_per_second(address, arguments.seconds)
            print(
                f"{workers} workers: {found[workers]:.0f} rows/s,"
                f" {found[workers] / found[1] / workers:.2f} of linear",
                flush=True,
            )


if __name__ == "__main__":
    main()
