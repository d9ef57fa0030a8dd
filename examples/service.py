"""One input function over two worker processes: a dispatcher, two workers, an Estimator.

    python examples/service.py

starts them on this host, trains a linear classifier of drawings on what they prepare, and stops
them. On other hosts they are started by `estimator-io serve` (docs/scale.md).
"""

from __future__ import annotations

import contextlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import tensorflow as tf

import estimator_io

DRAWINGS = Path(__file__).resolve().parent / "data" / "drawings"
STEPS = 20


@contextlib.contextmanager
def serving(*arguments: str) -> Iterator[str]:
    """Runs one `estimator-io serve` process and yields the address that it prints."""
    command = [sys.executable, "-m", "estimator_io.cli.main", "serve", *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip().removeprefix("listening on ")
        finally:
            process.kill()


def model_fn(features: Any, labels: Any, mode: str, params: Any) -> Any:
    """A linear classifier of pixels."""
    v1: Any = tf.compat.v1
    flat = tf.reshape(features["image"], [-1, 16 * 16 * 3]) / 255.0
    weights = v1.get_variable("weights", [16 * 16 * 3, params["classes"]])
    logits = tf.matmul(flat, weights)
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    step = v1.train.get_or_create_global_step()
    train = v1.train.GradientDescentOptimizer(0.1).minimize(loss, global_step=step)
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train)


def main() -> None:
    estimator_io.compat.install()
    with (
        serving("dispatcher") as dispatcher,
        serving("worker", "--dispatcher", dispatcher) as one,
        serving("worker", "--dispatcher", dispatcher) as two,
    ):
        print(f"dispatcher {dispatcher}, workers {one} and {two}")
        fn = estimator_io.image_input_fn(
            f"{DRAWINGS}/**/*.jpg",
            size=(16, 16),
            batch_size=16,
            service=f"grpc://{dispatcher}",
            position="restart",
        )
        print(fn)
        with tempfile.TemporaryDirectory() as folder:
            params = {"classes": len(fn.class_names or ())}
            estimator = tf.estimator.Estimator(model_fn, folder, params=params)
            estimator.train(fn, steps=STEPS)
            evaluation = estimator.evaluate(fn)
        print(f"loss {evaluation['loss']:.3f} after {evaluation['global_step']} steps")


if __name__ == "__main__":
    main()
