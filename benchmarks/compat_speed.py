"""Training speed of the same seeded DNNClassifier under two Pythons, and the time install() takes.

Usage, with the interpreters of two environments that differ in their TensorFlow::

    python -m benchmarks.compat_speed PYTHON_WITH_2_15 PYTHON_WITH_2_21 [--pairs 15]

Each pair runs both interpreters one after the other, in alternating order, each in a process of its
own: steps per second are counted after a warm-up, so neither imports nor the first graph count.
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
    def after_run(self, run_context, run_values):
        self.seen += 1
        if self.seen == steps // 4:
            self.start, self.cpu_start = time.perf_counter(), time.process_time()
        self.stop, self.cpu_stop = time.perf_counter(), time.process_time()

clock = Clock()
config = tf.estimator.RunConfig(
    tf_random_seed=1, save_checkpoints_steps=10 * steps, save_summary_steps=None,
    log_step_count_steps=None)
model = tf.estimator.DNNClassifier(
    [64, 32], [tf.feature_column.numeric_column("x", (32,))],
    model_dir=tempfile.mkdtemp(), config=config)
model.train(input_fn, steps=steps, hooks=[clock])
counted = steps - steps // 4
rate = counted / (clock.stop - clock.start)
cpu_rate = counted / (clock.cpu_stop - clock.cpu_start)
loss = float(model.evaluate(input_fn, steps=8)["loss"])
print(json.dumps({
    "tensorflow": tf.__version__, "steps_per_second": rate, "loss": loss,
    "steps_per_cpu_second": cpu_rate,
    "install_seconds": install_seconds}))
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
    ratios, cpu_ratios, installs = [], [], []
    for pair in range(arguments.pairs):
        order = [arguments.first, arguments.second]
        found = {python: measure(python, arguments.steps) for python in order[:: (-1) ** pair]}
        first, second = (found[python] for python in order)
        ratios.append(second["steps_per_second"] / first["steps_per_second"])
        cpu_ratios.append(second["steps_per_cpu_second"] / first["steps_per_cpu_second"])
        installs.append(second["install_seconds"])
        print(
            f"pair {pair + 1:2d}: {first['tensorflow']} {first['steps_per_second']:7.1f} steps/s, "
            f"{second['tensorflow']} {second['steps_per_second']:7.1f} steps/s, "
            f"ratio {ratios[-1]:.3f} (of CPU time {cpu_ratios[-1]:.3f}), "
            f"losses {first['loss']:.7f} {second['loss']:.7f}",
            flush=True,
        )
    for name, values in (("steps/s", ratios), ("steps per CPU second", cpu_ratios)):
        median, low, high = median_interval(values)
        print(f"ratio of {name}: median {median:.3f}, 95 % interval {low:.3f} to {high:.3f}")
    print(f"install(): median {statistics.median(installs):.3f} s, most {max(installs):.3f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
