"""What InputMonitor costs a step, in microseconds, under the Estimator and under fit.

The same training runs twice side by side, once with the monitor; single steps take turns. The cost
is the median of the differences within a pair of steps, which a shared machine disturbs least, with
the interval that holds it in 95 of 100 resamplings. Under fit a step is its train function.

    python -m benchmarks.monitor_cost
"""

from __future__ import annotations

import argparse
import contextlib
import io
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.pairs import run_pairs
from estimator_io import InputMonitor

v1 = tf.compat.v1

WIDTH = 64  # of the model: a step of some hundred microseconds, so that little hides the cost
WARM = 100  # steps before the first pair

Step = Callable[[], float]


def dataset() -> tf.data.Dataset:
    rows = tf.random.stateless_normal([32, WIDTH], (1, 2))
    return tf.data.Dataset.from_tensors((rows, rows)).repeat().prefetch(2)


def timed(step: Callable[[], Any]) -> float:
    """Returns the microseconds of a step."""
    began = time.perf_counter()
    step()
    return 1e6 * (time.perf_counter() - began)


@contextlib.contextmanager
def session_steps(monitor: InputMonitor | None) -> Iterator[Step]:
    """Yields what takes a step in a MonitoredSession, as the Estimator does."""
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        rows, labels = v1.data.make_one_shot_iterator(dataset()).get_next()
        weights = v1.get_variable("weights", [WIDTH, WIDTH])
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
        # One hook is there in any case, as the Estimator has several.
        hooks = [v1.train.StopAtStepHook(num_steps=10**9), *([monitor] if monitor else [])]
        with v1.train.MonitoredSession(hooks=hooks) as session:
            yield lambda: timed(lambda: session.run([train_op, loss]))


@contextlib.contextmanager
def fit_steps(monitor: InputMonitor | None) -> Iterator[Step]:
    """Yields what takes a step as Model.fit does, with the calls that a callback gets."""
    model: Any = tf.keras.Sequential([tf.keras.Input((WIDTH,)), tf.keras.layers.Dense(WIDTH)])
    model.compile("sgd", "mse")
    data = dataset()
    model.fit(data, steps_per_epoch=1, verbose=0)
    iterator = iter(data)
    if monitor is None:
        yield lambda: timed(lambda: model.train_function(iterator))
        return
    monitor.set_model(model)
    monitor.set_params({})
    monitor.on_train_begin()

    def step() -> None:
        monitor.on_train_batch_begin(0)
        model.train_function(iterator)

    yield lambda: timed(step)
    monitor.on_train_end()


def measure(steps: Callable[..., Any], pairs: int) -> str:
    monitor = InputMonitor(stream=io.StringIO())
    with steps(None) as without, steps(monitor) as watched:
        run_pairs({"without": without, "watched": watched}, WARM)
        seconds = run_pairs({"without": without, "watched": watched}, pairs)
    plain, cost = np.array(seconds["without"]), np.array(seconds["watched"])
    cost -= plain
    draws = np.random.default_rng(0).choice(cost, (2000, pairs))
    low, high = np.quantile(np.median(draws, axis=1), [0.025, 0.975])
    return (
        f"{np.median(plain):.0f} us a step without, {np.median(cost):+.1f} us"
        f" ({low:+.1f} to {high:+.1f}) with InputMonitor; {pairs} pairs"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=5000)
    options = parser.parse_args()
    print(f"TensorFlow {tf.__version__}")
    print("session:", measure(session_steps, options.pairs))
    print("fit:    ", measure(fit_steps, options.pairs))


if __name__ == "__main__":
    main()
