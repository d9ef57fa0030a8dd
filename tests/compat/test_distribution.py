"""Estimators on several devices and in clusters, in processes with hard time limits."""

from __future__ import annotations

import json
import os
import socket
from pathlib import Path
from typing import Any

import pytest

from tests import forks
from tests.compat.children import forked_facts

SECONDS = 120

STRATEGIES = """
import tempfile
import numpy as np
import estimator_io.compat
estimator_io.compat.install()
import tensorflow as tf
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)

def model_fn(features, labels, mode):
    w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.zeros_initializer())
    loss = tf.reduce_mean((features * w - labels) ** 2)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.01)
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_or_create_global_step())
    replicas = tf.distribute.get_strategy().num_replicas_in_sync
    metrics = {"mae": tf.compat.v1.metrics.mean_absolute_error(labels, features * w)}
    return tf.estimator.EstimatorSpec(
        mode, predictions=features * w, loss=loss, train_op=train_op, eval_metric_ops=metrics
    )

def input_fn():
    x = np.arange(1, 9, dtype="float32")
    return tf.data.Dataset.from_tensor_slices((x, 2 * x)).batch(2).repeat(5)

def train(strategy, canned=False):
    config = tf.estimator.RunConfig(
        tf_random_seed=1, train_distribute=strategy, eval_distribute=strategy
    )
    if canned:
        column = tf.feature_column.numeric_column("x")
        named = lambda: input_fn().map(lambda x, y: ({"x": x}, y))
        model = tf.estimator.DNNRegressor([2], [column], tempfile.mkdtemp(), config=config)
        model.train(named, steps=4)
        return float(model.evaluate(named, steps=4)["global_step"])
    model = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), config)
    model.train(input_fn)
    results = model.evaluate(input_fn, steps=4)
    weight = float(model.get_variable_value("w"))
    return [int(results["global_step"]), weight, float(results["mae"])]

mirrored = lambda: tf.distribute.MirroredStrategy(
    ["/cpu:0", "/cpu:1"], cross_device_ops=tf.distribute.ReductionToOneDevice()
)
facts["none"] = train(None)
facts["one_device"] = train(tf.distribute.OneDeviceStrategy("/cpu:1"))
facts["mirrored"] = train(mirrored())
facts["canned"] = train(mirrored(), canned=True)
"""


@pytest.fixture(scope="module")
def strategies() -> Any:
    return forked_facts(STRATEGIES)


def test_one_device_strategy_trains_as_no_strategy_does(strategies: Any) -> None:
    assert strategies["one_device"][0] == strategies["none"][0] == 20
    assert strategies["one_device"][1:] == pytest.approx(strategies["none"][1:], rel=1e-6)


def test_mirrored_strategy_halves_the_steps_and_learns(strategies: Any) -> None:
    steps, weight, error = strategies["mirrored"]
    assert steps == 10
    assert weight == pytest.approx(2.0, abs=0.05)
    assert error == pytest.approx(0.0, abs=0.2)


def test_a_canned_estimator_trains_under_mirrored_strategy(strategies: Any) -> None:
    assert strategies["canned"] == 4


CLUSTER_TASK = """
import sys
import estimator_io.compat
estimator_io.compat.install()
import tensorflow as tf

def model_fn(features, labels, mode):
    w = tf.compat.v1.get_variable("w", [], initializer=tf.compat.v1.zeros_initializer())
    loss = tf.reduce_mean((features * w - labels) ** 2)
    optimizer = tf.compat.v1.train.GradientDescentOptimizer(0.05)
    train_op = optimizer.minimize(loss, tf.compat.v1.train.get_or_create_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

def input_fn():
    return tf.data.Dataset.from_tensors((tf.ones([2]), 2 * tf.ones([2]))).repeat()

config = tf.estimator.RunConfig(model_dir=sys.argv[1], save_checkpoints_steps=20)
estimator = tf.estimator.Estimator(model_fn, config=config)
result = tf.estimator.train_and_evaluate(
    estimator,
    tf.estimator.TrainSpec(input_fn, max_steps=60),
    tf.estimator.EvalSpec(input_fn, steps=1, start_delay_secs=0, throttle_secs=0),
)
print("DONE", config.task_type, config.task_id, config.is_chief)
"""


def free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("localhost", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Output of each task of a cluster of a chief, a worker, a parameter server, an evaluator."""
    folder = tmp_path_factory.mktemp("cluster")
    addresses = [f"localhost:{port}" for port in free_ports(3)]
    jobs = dict(zip(("chief", "worker", "ps"), ([address] for address in addresses), strict=True))
    processes: dict[str, forks.Program] = {}
    try:
        for task in ("ps", "chief", "worker", "evaluator"):
            tf_config = {"cluster": jobs, "task": {"type": task, "index": 0}}
            processes[task] = start_task(folder, tf_config)
        for task in ("chief", "worker", "evaluator"):
            processes[task].wait(SECONDS)
        return {task: (folder / f"{task}.txt").read_text() for task in processes}
    finally:
        for process in processes.values():
            process.kill()
            process.wait()


def start_task(folder: Path, tf_config: dict[str, Any]) -> forks.Program:
    environment = {
        **os.environ,
        "TF_CPP_MIN_LOG_LEVEL": "3",
        "TF_CONFIG": json.dumps(tf_config),
    }
    with open(folder / f"{tf_config['task']['type']}.txt", "a") as printed:
        return forks.start(
            ["-c", CLUSTER_TASK, folder / "model"], env=environment, streams=(printed, printed)
        )


@pytest.mark.parametrize(
    ("task", "is_chief"), [("chief", True), ("worker", False), ("evaluator", False)]
)
def test_each_task_of_a_cluster_ends_with_the_training(
    cluster: dict[str, str], task: str, is_chief: bool
) -> None:
    assert f"DONE {task} 0 {is_chief}" in cluster[task], cluster[task][-3000:]


def test_chief_and_worker_train_one_model_that_the_evaluator_sees(
    cluster: dict[str, str], tf: Any, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = next(tmp_path_factory.getbasetemp().glob("cluster*"))
    assert float(tf.train.load_variable(str(folder / "model"), "w")) == pytest.approx(2.0, abs=0.05)
    assert int(tf.train.load_variable(str(folder / "model"), "global_step")) >= 60
    assert list((folder / "model" / "eval").glob("events.*"))
