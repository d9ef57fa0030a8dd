"""train_and_evaluate and fit in a cluster on loopback: a chief, a worker and an evaluator."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import tensorflow as tf

import migration
from estimator_io import compat
from estimator_io.errors import OptionError
from tests.compat.test_distribution import free_ports
from tests.conftest import ROOT

SECONDS = 540
TASKS = ("chief", "worker", "evaluator")

# What each task prints behind FACTS is compared with NumPy, which trains on all rows at once.
PROGRAM = """
import functools, json, os, sys
import numpy as np
import estimator_io, migration
estimator_io.compat.install()
import tensorflow as tf
folder = sys.argv[1]
config = tf.estimator.RunConfig(folder + "/loop", save_checkpoints_steps=2, save_summary_steps=2)
facts = {"task": config.task_type}
if config.task_type == "evaluator":  # before TensorFlow runs anything
    cpu = tf.config.list_physical_devices("CPU")[0]
    tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

def rows(count=32):
    x = np.arange(count, dtype=np.float32)[:, None] / count
    return {"x": x}, 2 * x + 1

def input_fn(mode, input_context=None):
    data = tf.data.Dataset.from_tensor_slices(rows())
    if mode == "eval":
        return data.batch(8)
    if input_context is not None:
        shard = input_context.num_input_pipelines, input_context.input_pipeline_id
        return data.repeat(4).shard(*shard).batch(4)
    return data.repeat(4).batch(8)

def build():
    x = tf.keras.Input((1,), name="x")
    model = tf.keras.Model({"x": x}, tf.keras.layers.Dense(1, kernel_initializer="zeros")(x))
    model.compile(tf.keras.optimizers.SGD(0.1), "mse", metrics=["mae"])
    return model

def train_spec(max_steps, **kwargs):
    return tf.estimator.TrainSpec(input_fn, max_steps=max_steps, **kwargs)

eval_spec = tf.estimator.EvalSpec(input_fn, steps=None, start_delay_secs=0, throttle_secs=0)

class Losses(tf.keras.callbacks.Callback):
    def __init__(self, stop_at=None):
        super().__init__()
        self.seen, self.stop_at = [], stop_at
    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(float(logs["loss"]))
        if len(self.seen) == self.stop_at:
            self.model.stop_training = True

def train(strategy, config, max_steps, stop_at=None):
    with strategy.scope():
        model = build()
    losses = Losses(stop_at)
    result = migration.train_and_evaluate(
        model, train_spec(max_steps), eval_spec, config, callbacks=[losses]
    )
    step = int(model.optimizer.iterations.numpy())
    return {"losses": losses.seen, "step": step, "result": str(result)}

if config.task_type == "evaluator":
    facts["evaluated"] = str(migration.train_and_evaluate(
        build(), train_spec(8), eval_spec, config)[0]["global_step"])
    del os.environ["TF_CONFIG"]
    mirrored = tf.distribute.MirroredStrategy(["/cpu:0", "/cpu:1"])
    here = tf.estimator.RunConfig(folder + "/mirrored", train_distribute=mirrored)
    facts["mirrored"] = train(mirrored, here, 8)
else:
    # On a busy machine a task may not come to its heartbeat in the 10 seconds that are usual.
    from tensorflow.python.eager import context
    configure = context.context().configure_coordination_service
    context.context().configure_coordination_service = functools.partial(
        configure, heartbeat_timeout_in_ms=300_000
    )
    strategy = migration.run_config_to_strategy(config)
    facts["first"] = train(strategy, config, 4)
    # One of the two asks to stop; the other one may not wait for it for ever.
    facts["stopped"] = train(strategy, config, 8, stop_at=2 if config.is_chief else None)
    facts["rest"] = train(strategy, config, 8)
    with strategy.scope():
        model = build()
    arguments = migration.fit_arguments(train_spec(6), eval_spec, model, steps_per_epoch=3)
    facts["history"] = {k: [float(v) for v in values] for k, values in
                        model.fit(verbose=0, **arguments).history.items()}
    with strategy.scope():
        model = build()
    # The data ends after 16 steps.
    facts["whole"] = int(model.fit(
        verbose=0, **migration.fit_arguments(train_spec(None), None, model)
    ).model.optimizer.iterations.numpy())
    from migration.distribution.workers import Workers
    try:
        Workers(strategy).require_same_step(int(config.is_chief), folder)
    except estimator_io.errors.OptionError as error:
        facts["differ"] = str(error)
print("FACTS" + json.dumps(facts))
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("cluster")


@pytest.fixture(scope="module")
def cluster(folder):
    """What the tasks printed, by their type."""
    chief, worker = (f"localhost:{port}" for port in free_ports(2))
    jobs = {"chief": [chief], "worker": [worker]}
    processes = []
    try:
        for task in TASKS:
            tf_config = {"cluster": jobs, "task": {"type": task, "index": 0}}
            environment = {
                **os.environ,
                "PYTHONPATH": str(ROOT),
                "TF_CPP_MIN_LOG_LEVEL": "3",
                "TF_CONFIG": json.dumps(tf_config),
            }
            processes.append(
                subprocess.Popen(
                    [sys.executable, "-c", PROGRAM, str(folder)],
                    env=environment,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    text=True,
                )
            )
        outputs = [process.communicate(timeout=SECONDS)[0] for process in processes]
    finally:
        for process in processes:
            process.kill()
            process.wait()
    for output in outputs:
        assert "FACTS" in output, output[-4000:]
    return {
        task: json.loads(output.rpartition("FACTS")[2].splitlines()[0])
        for task, output in zip(TASKS, outputs, strict=True)
    }


def by_numpy(steps):
    """Losses of gradient descent on batches of 8 rows: those of both workers together."""
    x = np.tile(np.arange(32) / 32, 4)
    slope = bias = 0.0
    losses = []
    for at in range(0, 8 * steps, 8):
        error = slope * x[at : at + 8] + bias - (2 * x[at : at + 8] + 1)
        losses.append(np.mean(error**2))
        slope -= 0.1 * np.mean(2 * error * x[at : at + 8])
        bias -= 0.1 * np.mean(2 * error)
    return losses


@pytest.mark.timeout(600)
def test_two_workers_train_one_model_as_one_process_would_on_all_rows(cluster):
    for task in ("chief", "worker"):
        facts = cluster[task]
        assert facts["first"]["step"] == 4
        np.testing.assert_allclose(facts["first"]["losses"], by_numpy(4), rtol=1e-4)
        # Input functions of the user begin anew with each call; the weights go on.
        assert facts["stopped"]["step"] == 6
        assert len(facts["rest"]["losses"]) == 2
        assert facts["rest"]["step"] == 8
        assert {facts[part]["result"] for part in ("first", "rest")} == {"(None, None)"}
    assert cluster["chief"]["rest"]["losses"] == cluster["worker"]["rest"]["losses"]


@pytest.mark.timeout(600)
def test_the_chief_writes_and_the_evaluator_evaluates(cluster, folder):
    assert cluster["evaluator"]["evaluated"] == "8"
    names = {path.name for path in (folder / "loop").iterdir()}
    assert {"checkpoint", "eval", "model.ckpt-4.index", "model.ckpt-8.index"} <= names
    events = [name for name in names if "tfevents" in name]
    assert len(events) == 3  # one of each call of the chief


@pytest.mark.timeout(600)
def test_fit_arguments_train_and_validate_with_two_workers(cluster):
    for task in ("chief", "worker"):
        history = cluster[task]["history"]
        expected = by_numpy(6)
        means = [np.mean(expected[:3]), np.mean(expected[3:])]
        np.testing.assert_allclose(history["loss"], means, rtol=1e-4)
        assert len(history["val_loss"]) == 2
        assert history["val_loss"][1] < history["val_loss"][0]
        assert cluster[task]["whole"] == 16


@pytest.mark.timeout(600)
def test_two_replicas_in_one_process_do_the_same(cluster):
    mirrored = cluster["evaluator"]["mirrored"]
    assert mirrored["step"] == 8
    np.testing.assert_allclose(mirrored["losses"], by_numpy(8), rtol=1e-4)


@pytest.mark.timeout(600)
def test_workers_that_restored_different_checkpoints_do_not_train(cluster):
    for task in ("chief", "worker"):
        assert "the steps [1, 0]" in cluster[task]["differ"]


@pytest.mark.parametrize(
    ("task", "jobs", "error"),
    [
        ("chief", ("chief", "worker", "ps"), r"parameter servers.*the task 'chief'.*Mirrored"),
        ("worker", ("chief", "worker", "ps"), r"parameter servers.*the task 'worker'"),
        ("ps", ("chief", "worker", "ps"), r"parameter servers.*the task 'ps'"),
        ("master", ("master", "worker"), r"the task 'master'.*Call the task 'chief'"),
        ("chief", ("chief", "worker"), r"not built for several workers.*'chief'.*of 1 worker\."),
    ],
)
def test_a_task_that_fit_has_no_work_for_is_told_what_to_use(
    task, jobs, error, tmp_path, monkeypatch
):
    compat.install()
    tasks = {job: [f"localhost:{at}"] for at, job in enumerate(jobs, 1)}
    value = {"cluster": tasks, "task": {"type": task, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(value))
    config = tf.estimator.RunConfig(str(tmp_path))
    model = tf.keras.Sequential([tf.keras.Input((1,)), tf.keras.layers.Dense(1)])
    model.compile("sgd", "mse")
    data = tf.data.Dataset.from_tensors(([[1.0]], [1.0])).repeat()
    train = tf.estimator.TrainSpec(lambda: data, max_steps=2)
    evaluate = tf.estimator.EvalSpec(lambda: data, steps=1)
    with pytest.raises(OptionError, match=error):
        migration.train_and_evaluate(model, train, evaluate, config)
