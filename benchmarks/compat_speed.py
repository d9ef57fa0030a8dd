"""Training speed of the same seeded DNNClassifier under two Pythons, and the time install() takes.

Usage, with the interpreters of two environments that differ in their TensorFlow::

    python -m benchmarks.compat_speed PYTHON_WITH_2_15 PYTHON_WITH_2_21 [--pairs 15]

Each pair runs both interpreters one after the other, in alternating order, each in a process of its
own: steps per second are counted after a warm-up, so neither imports nor the first graph count.
The same process then trains the same network without an Estimator, in a plain monitored session
of TensorFlow 1: the ratio of those speeds is what TensorFlow itself gained or
lost between the versions, and what an Estimator's ratio falls short of it is the layer's share.
Steps per CPU second are told beside them: on a machine that others use, they are the steadier ones.
The ratio is that of the second to the first within a pair; what is told of all pairs is the median
and its 95 % interval (order statistics, so nothing is assumed of the distribution).
"""

from __future__ import annotations

import argparse
import json
import math
import os
import statistics
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TIME_LIMIT_SECONDS = 300
RATES = (
    "steps_per_second",
    "steps_per_cpu_second",
    "plain_steps_per_second",
    "plain_steps_per_cpu_second",
)

CHILD = """
import json, sys, tempfile, time
import estimator_io.compat
import tensorflow as tf
if not tf.__version__.startswith("2.15."):
    # The imports that a program pays on TensorFlow 2.15 too; what is left is install() itself.
    import tf_keras.api._v1.keras, tf_keras.api._v2.keras
    tf.keras.Model
estimator_io.compat.install()
estimator_io.compat.uninstall()
start = time.perf_counter()
estimator_io.compat.install()
install_seconds = time.perf_counter() - start
import numpy as np
tf.get_logger().setLevel("ERROR")
steps = int(sys.argv[1])
random = np.random.RandomState(0)
x = random.randn(4096, 32).astype("float32")
y = (x[:, 0] > 0).astype("int64")

def input_fn():
    return tf.data.Dataset.from_tensor_slices(({"x": x}, y)).repeat().batch(128).prefetch(2)

class Clock(tf.compat.v1.train.SessionRunHook):
    def begin(self):
        self.seen, self.start = 0, None
        self.operations = len(tf.compat.v1.get_default_graph().get_operations())
    def after_run(self, run_context, run_values):
        self.seen += 1
        if self.seen == steps // 4:
            self.start, self.cpu_start = time.perf_counter(), time.process_time()
        self.stop, self.cpu_stop = time.perf_counter(), time.process_time()
    def facts(self, prefix):
        counted = steps - steps // 4
        return {
            prefix + "steps_per_second": counted / (self.stop - self.start),
            prefix + "steps_per_cpu_second": counted / (self.cpu_stop - self.cpu_start),
            prefix + "operations": self.operations}

def estimator():
    config = tf.estimator.RunConfig(
        tf_random_seed=1, save_checkpoints_steps=10 * steps, save_summary_steps=None,
        log_step_count_steps=None)
    model = tf.estimator.DNNClassifier(
        [64, 32], [tf.feature_column.numeric_column("x", (32,))],
        model_dir=tempfile.mkdtemp(), config=config)
    clock = Clock()
    model.train(input_fn, steps=steps, hooks=[clock])
    loss = float(model.evaluate(input_fn, steps=8)["loss"])
    return {**clock.facts(""), "loss": loss}

def plain():
    v1 = tf.compat.v1
    clock = Clock()
    with tf.Graph().as_default():
        features, labels = v1.data.make_one_shot_iterator(input_fn()).get_next()
        hidden, width = features["x"], 32
        for number, units in enumerate((64, 32, 1)):
            kernel = v1.get_variable(f"kernel_{number}", (width, units), use_resource=True)
            bias = v1.get_variable(
                f"bias_{number}", (units,), initializer=v1.zeros_initializer(), use_resource=True)
            hidden = tf.nn.bias_add(tf.matmul(hidden, kernel), bias)
            hidden, width = (tf.nn.relu(hidden) if units > 1 else hidden), units
        target = tf.cast(labels[:, None], tf.float32)
        loss = tf.reduce_mean(
            tf.nn.sigmoid_cross_entropy_with_logits(labels=target, logits=hidden))
        step = v1.train.get_or_create_global_step()
        train = v1.train.AdagradOptimizer(0.05).minimize(loss, step)
        hooks = [clock, v1.train.StopAtStepHook(steps), v1.train.NanTensorHook(loss)]
        with v1.train.MonitoredSession(hooks=hooks) as session:
            while not session.should_stop():
                session.run([train, loss])
    return clock.facts("plain_")

print(json.dumps({
    "tensorflow": tf.__version__, "install_seconds": install_seconds, **estimator(), **plain()}))
"""


def measure(python: str, steps: int) -> dict:
    """Runs the training once under an interpreter."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "TF_CPP_MIN_LOG_LEVEL": "3"}
    result = subprocess.run(
        [python, "-c", CHILD, str(steps)],
        env=environment,
        capture_output=True,
        text=True,
        timeout=TIME_LIMIT_SECONDS,
        check=False,
    )
    if result.returncode:
        raise SystemExit(f"{python} failed:\n{result.stderr[-3000:]}")
    return json.loads(result.stdout.splitlines()[-1])


def told(found: dict) -> str:
    """Returns the speeds, the size of the training graph and the loss of one run."""
    return (
        f"{found['tensorflow']} {found['steps_per_second']:.1f} steps/s, "
        f"plain {found['plain_steps_per_second']:.1f}, "
        f"{found['operations']} operations, loss {found['loss']:.7f}"
    )


def median_interval(values: list[float]) -> tuple[float, float, float]:
    """Returns the median and the narrowest order statistics that hold it with 95 % or more."""
    ordered, count = sorted(values), len(values)
    below, outside = 0, 0.0
    while below < count // 2:
        outside += 2 * math.comb(count, below) / 2**count
        if outside > 0.05:
            break
        below += 1
    lowest = max(below - 1, 0)
    return statistics.median(ordered), ordered[lowest], ordered[count - 1 - lowest]


def main() -> int:
    """Measures the pairs and prints one line each, then the summary."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("first", help="interpreter whose speed is 1")
    parser.add_argument("second", help="interpreter to compare")
    parser.add_argument("--pairs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=4000)
    arguments = parser.parse_args()
    ratios: dict[str, list[float]] = {name: [] for name in RATES}
    installs = []
    for pair in range(arguments.pairs):
        order = [arguments.first, arguments.second]
        found = {python: measure(python, arguments.steps) for python in order[:: (-1) ** pair]}
        first, second = (found[python] for python in order)
        for name, values in ratios.items():
            values.append(second[name] / first[name])
        installs.append(second["install_seconds"])
        print(f"pair {pair + 1:2d}: {told(first)}; {told(second)}; ratios", end="")
        print("".join(f" {values[-1]:.3f}" for values in ratios.values()), flush=True)
    shares = zip(ratios["steps_per_cpu_second"], ratios["plain_steps_per_cpu_second"], strict=True)
    ratios["of the layer alone (Estimator over plain, CPU)"] = [own / tf for own, tf in shares]
    for name, values in ratios.items():
        median, low, high = median_interval(values)
        print(f"ratio {name}: median {median:.3f}, 95 % interval {low:.3f} to {high:.3f}")
    print(f"install(): median {statistics.median(installs):.3f} s, most {max(installs):.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
