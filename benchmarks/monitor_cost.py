"""What InputMonitor or ProgressHook costs a step, under the Estimator and under fit.

The same training runs twice side by side, once watched; single steps take turns. A watcher does
little in most steps; in every 500th it reads the times of the last 500 and writes the scalars of
every 100. A median over all steps would hide that one. So there are two medians of the differences
within a pair, which a shared machine disturbs least: that of most steps, and that of the steps that
read. The cost of a step is the first, plus a 500th of what the second is above it; the interval
holds it in 95 of 100 resamplings.

Under the Estimator a step is a run of a MonitoredSession, all hooks included; under fit what it
does for a step: the train function and all calls of callbacks. Both sides have what is there
anyway: one hook that stops training, and fit's own callback.

    python -m benchmarks.monitor_cost
"""

from __future__ import annotations

import argparse
import contextlib
import io
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from benchmarks.pairs import run_pairs
from estimator_io import InputMonitor, ProgressHook
from estimator_io.hooks.steps import MOST

v1 = tf.compat.v1

WIDTH = 64  # of the model: a step of some hundred microseconds, so that little hides the cost
WARM = MOST  # steps before the first pair
RESAMPLES = 1000

Step = Callable[[], float]


class Terminal(io.StringIO):
    """A stream that a bar is drawn on."""

    def isatty(self) -> bool:
        """Yes."""
        return True


def dataset() -> tf.data.Dataset:
    rows = tf.random.stateless_normal([32, WIDTH], (1, 2))
    return tf.data.Dataset.from_tensors((rows, rows)).repeat().prefetch(2)


def timed(step: Callable[[], Any]) -> float:
    """Returns the microseconds of a step."""
    began = time.perf_counter()
    step()
    return 1e6 * (time.perf_counter() - began)


@contextlib.contextmanager
def session_steps(watchers: list[Any]) -> Iterator[Step]:
    """Yields what takes a step in a MonitoredSession, as the Estimator does."""
    with tf.Graph().as_default():
        step = v1.train.create_global_step()
        rows, labels = v1.data.make_one_shot_iterator(dataset()).get_next()
        weights = v1.get_variable("weights", [WIDTH, WIDTH])
        loss = tf.reduce_mean(tf.square(tf.matmul(rows, weights) - labels))
        train_op = v1.train.GradientDescentOptimizer(0.01).minimize(loss, global_step=step)
        hooks = [v1.train.StopAtStepHook(num_steps=10**9), *watchers]
        with v1.train.MonitoredSession(hooks=hooks) as session:
            yield lambda: timed(lambda: session.run([train_op, loss]))


@contextlib.contextmanager
def fit_steps(watchers: list[Any]) -> Iterator[Step]:
    """Yields what takes a step as Model.fit does, with all calls of callbacks."""
    model: Any = tf.keras.Sequential([tf.keras.Input((WIDTH,)), tf.keras.layers.Dense(WIDTH)])
    model.compile("sgd", "mse")
    data = dataset()
    model.fit(data, steps_per_epoch=1, verbose=0)
    iterator = iter(data)
    callbacks: Any = tf.keras.callbacks.CallbackList(
        watchers, add_history=True, model=model, epochs=1, steps=None
    )
    callbacks.on_train_begin()

    def step() -> None:
        callbacks.on_train_batch_begin(1)
        logs = model.train_function(iterator)
        callbacks.on_train_batch_end(1, logs)

    yield lambda: timed(step)
    callbacks.on_train_end()


def measure(steps: Callable[..., Any], watcher: Any, pairs: int) -> str:
    """Returns a line about what the watcher costs, from so many pairs."""
    watcher.seconds_to_wait = 1e9  # a reading is due after so many steps alone, not after a time
    told = Count.of(watcher)
    with steps([]) as without, steps([watcher]) as watched:
        numbered: Callable[[], tuple[float, int]] = lambda: (watched(), told.number)  # noqa: E731
        run_pairs({"without": without, "watched": watched}, WARM)
        before = told.number
        results: Any = run_pairs({"without": without, "watched": numbered}, pairs)
    plain = np.array(results["without"])
    seconds, numbers = np.transpose(results["watched"])
    reads = np.diff(numbers, prepend=before) > 0
    most, reading = (seconds - plain)[~reads], (seconds - plain)[reads]
    generator = np.random.default_rng(0)
    draws = [
        per_step(generator.choice(most, most.size), generator.choice(reading, reading.size))
        for _ in range(RESAMPLES)
    ]
    low, high = np.quantile(draws, [0.025, 0.975])
    return (
        f"{np.median(plain):.0f} us a step without, {per_step(most, reading):+.1f} us"
        f" ({low:+.1f} to {high:+.1f}) with it: most steps {np.median(most):+.1f}, those that read"
        f" {np.median(reading):+.0f} ({reading.size} of {pairs})"
    )


def per_step(most: np.ndarray, reading: np.ndarray) -> float:
    """Returns the mean of the two medians, weighed by how often each kind of step comes."""
    share = 1 / MOST
    return float((1 - share) * np.median(most) + share * np.median(reading))


class Count:
    """How often a watcher was told of steps."""

    def __init__(self) -> None:
        self.number = 0

    @classmethod
    def of(cls, watcher: Any) -> Count:
        """Returns the count of a watcher, which goes on from now."""
        count, told = cls(), watcher.after_steps

        def after_steps(steps: Any) -> None:
            count.number += 1
            told(steps)

        watcher.after_steps = after_steps
        return count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--progress", action="store_true", help="measure ProgressHook instead")
    options = parser.parse_args()
    print(f"TensorFlow {tf.__version__}, {'ProgressHook' if options.progress else 'InputMonitor'}")
    for name, steps in (("session", session_steps), ("fit", fit_steps)):
        with tempfile.TemporaryDirectory() as folder:
            watcher: Any = (
                ProgressHook(stream=Terminal())
                if options.progress
                else InputMonitor(log_dir=folder, stream=io.StringIO())
            )
            print(f"{name:8}", measure(steps, watcher, options.pairs), flush=True)


if __name__ == "__main__":
    main()
