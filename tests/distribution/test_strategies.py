"""Rows under distribution strategies, in processes with hard time limits."""

from __future__ import annotations

import json
import os

import pytest
import tensorflow as tf

from tests import forks
from tests.compat.test_distribution import free_ports

SECONDS = 240
ROWS = 46  # neither a multiple of the batch nor of the workers

# Each replica notes the rows of its steps in a file of its own; evaluation notes them apart.
PROGRAM = """
import json, os, sys
import numpy as np
import estimator_io
estimator_io.compat.install()
import tensorflow as tf
how, folder, rows = sys.argv[1], sys.argv[2], int(sys.argv[3])
fn = estimator_io.input_fn(np.arange(rows), batch_size=8, epochs=2, seed=5)
v1 = tf.compat.v1

def noted(mode, x):
    def note(values, replica):
        path = os.path.join(folder, f"{mode}-{os.getpid()}-{replica}.jsonl")
        with open(path, "a") as file:
            file.write(json.dumps(values.tolist()) + "\\n")
        return values
    replica = tf.distribute.get_replica_context().replica_id_in_sync_group
    return tf.ensure_shape(tf.numpy_function(note, [x, replica], x.dtype), x.shape)

def model_fn(features, labels, mode):
    seen = tf.cast(noted(mode, features), tf.float32)
    w = v1.get_variable("w", [], initializer=v1.zeros_initializer())
    loss = tf.reduce_mean(seen) * 0 + w
    step = v1.train.get_or_create_global_step()
    train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    metrics = {"mean": v1.metrics.mean(seen)}
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metric_ops=metrics
    )

def two_cpus():
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    return tf.distribute.MirroredStrategy(
        ["/cpu:0", "/cpu:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
    )

def estimate(strategy, evaluate):
    config = tf.estimator.RunConfig(
        os.path.join(folder, "model"), train_distribute=strategy, eval_distribute=strategy
    )
    estimator = tf.estimator.Estimator(model_fn, config=config)
    if evaluate:
        estimator.train(fn)
        estimator.evaluate(fn)
        return
    tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(fn, max_steps=1000),
        tf.estimator.EvalSpec(fn, steps=None, start_delay_secs=0, throttle_secs=0),
    )

class Noting(tf.keras.Model):
    def __init__(self):
        super().__init__()
        self.steps = self.add_weight(shape=(), initializer="zeros", name="steps")
    def call(self, x):
        return tf.cast(x, tf.float32) * self.steps
    def train_step(self, x):
        noted("train", x)
        return {"rows": tf.cast(tf.shape(x)[0], tf.float32)}

def fit(strategy):
    with strategy.scope():
        model = Noting()
        model.compile("sgd")
    dataset = strategy.distribute_datasets_from_function(
        lambda context: fn("train", input_context=context)
    )
    # The last batch would leave a replica without rows, on which fit cannot step together.
    model.fit(dataset, steps_per_epoch=11, epochs=1, verbose=0)

if how == "mirrored estimator":
    estimate(two_cpus(), evaluate=True)
elif how == "mirrored fit":
    fit(two_cpus())
elif how == "workers estimator":
    estimate(tf.distribute.MultiWorkerMirroredStrategy(), evaluate=False)
else:
    fit(tf.distribute.MultiWorkerMirroredStrategy())
print("DONE")
"""


def run(how, folder, workers):
    """Runs the program in as many processes as there are workers; returns the notes by mode."""
    addresses = [f"localhost:{port}" for port in free_ports(workers)]
    processes = []
    try:
        for index in range(workers):
            environment = {**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"}
            if workers > 1:
                task = {"type": "worker", "index": index}
                environment["TF_CONFIG"] = json.dumps(
                    {"cluster": {"worker": addresses}, "task": task}
                )
            words = ["-c", PROGRAM, how, folder, str(ROWS)]
            with open(folder / f"{index}.txt", "a") as printed:
                processes.append(forks.start(words, env=environment, streams=(printed, printed)))
        for process in processes:
            process.wait(SECONDS)
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for index in range(workers):
        output = (folder / f"{index}.txt").read_text()
        assert "DONE" in output, output[-3000:]
    return {
        mode: [
            [json.loads(line) for line in path.read_text().splitlines()]
            for path in sorted(folder.glob(f"{mode}-*.jsonl"))
        ]
        for mode in ("train", "eval")
    }


def flat(batches):
    return [row for batch in batches for row in batch]


def assert_rows_of_two_epochs(replicas):
    """Each replica takes its half of the global batch of 8; no row comes more than twice."""
    assert len(replicas) == 2
    for batches in replicas:
        assert {len(batch) for batch in batches[:-1]} == {4}
    seen = sorted(row for batches in replicas for row in flat(batches))
    # Rows that do not fill a batch for each replica make no step.
    assert 2 * ROWS - 8 <= len(seen) <= 2 * ROWS
    assert all(seen.count(row) <= 2 for row in range(ROWS))


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["mirrored estimator", "mirrored fit"])
def test_replicas_share_the_global_batch_under_the_estimator_and_fit_alike(how, tmp_path):
    notes = run(how, tmp_path, 1)
    assert_rows_of_two_epochs(notes["train"])
    if notes["eval"]:
        assert sorted(row for batches in notes["eval"] for row in flat(batches)) == [*range(ROWS)]


@pytest.mark.timeout(300)
@pytest.mark.parametrize("how", ["workers estimator", "workers fit"])
def test_two_workers_read_disjoint_rows_that_are_all_of_them(how, tmp_path):
    if how == "workers fit" and not tf.__version__.startswith("2.15."):
        pytest.skip(
            "fit of Keras 3 hands the structure of a batch to strategy.reduce, which takes one"
            " tensor; migration prepares models for it: tests/migration/distribution"
        )
    notes = run(how, tmp_path, 2)
    assert_rows_of_two_epochs(notes["train"])
    one, two = ({*flat(batches)} for batches in notes["train"])
    assert not one & two
    assert len(one | two) >= ROWS - 4
