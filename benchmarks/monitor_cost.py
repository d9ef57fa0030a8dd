"""What InputMonitor costs a step, in microseconds, under the Estimator and under fit.

The same training runs twice side by side, once with the monitor, in short blocks that take turns.
The cost is the median of the differences within a pair of blocks, which a shared machine's drift
leaves alone, with the interval that holds it in 95 of 100 resamplings.

    python -m benchmarks.monitor_cost
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable, Iterator

import numpy as np
import tensorflow as tf

from benchmarks.pairs import run_pairs
from estimator_io import InputMonitor

v1 = tf.compat.v1

WIDTH = 64  # of the model: a step of some hundred microseconds, so that little hides the cost


def dataset() -> tf.data.Dataset:
    rows = tf.random.stateless_normal([32, WIDTH], (1, 2))
    return tf.data.Dataset.from_tensors((rows, rows)).repeat().prefetch(2)


@contextlib.contextmanager
def session_blocks(monitor: InputMonitor | None, steps: int) -> Iterator[Callable[[], float]]:
    """Yields what takes `steps` steps in a MonitoredSession and returns their seconds."""
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        rows, labels = v1.data.make_one_shot_iterator(dataset()).get_next()
        weights = v1.get_variable("weights", [WIDTH, WIDTH])
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
        hooks = [] if monitor is None else [monitor]
        with v1.train.MonitoredSession(hooks=hooks) as session:

            def block() -> float:
                began = time.perf_counter()
                for _ in range(steps):
                    session.run([train_op, loss])
                return time.perf_counter() - began

            yield block


@contextlib.contextmanager
def fit_blocks(monitor: InputMonitor | None, steps: int) -> Iterator[Callable[[], float]]:
    """Yields what takes `steps` steps of `Model.fit` and returns their seconds."""
    model = tf.keras.Sequential([tf.keras.Input((WIDTH,)), tf.keras.layers.Dense(WIDTH)])
    model.compile("sgd", "mse")
    data = dataset()
    callbacks = [] if monitor is None else [monitor]

    def block() -> float:
        began = time.perf_counter()
        model.fit(data, steps_per_epoch=steps, verbose=0, callbacks=callbacks)
        return time.perf_counter() - began

    yield block


def measure(blocks: Callable, pairs: int, steps: int) -> str:
    with (
        blocks(None, steps) as without,
        blocks(InputMonitor(stream=io.StringIO()), steps) as watched,
    ):
        without(), watched()  # traced and warm
        seconds = run_pairs({"without": without, "watched": watched}, pairs)
    plain = np.array(seconds["without"]) / steps * 1e6
    cost = np.array(seconds["watched"]) / steps * 1e6 - plain
    draws = np.random.default_rng(0).choice(cost, (10_000, pairs))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return (
        f"{np.median(plain):6.0f} us a step without, {np.median(cost):+5.1f} us"
        f" ({low:+.1f} to {high:+.1f}) with InputMonitor; {pairs} pairs of {steps} steps"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=60)
    parser.add_argument("--steps", type=int, default=200)
    options = parser.parse_args()
    print(f"TensorFlow {tf.__version__}")
    print("session:", measure(session_blocks, options.pairs, options.steps))
    print("fit:    ", measure(fit_blocks, options.pairs, options.steps))


if __name__ == "__main__":
    main()
