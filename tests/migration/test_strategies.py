"""The strategy that a RunConfig stands for under fit."""

import json

import pytest
import tensorflow as tf

import migration
from estimator_io import compat
from estimator_io.errors import OptionError

KERAS_2 = getattr(tf.keras, "__version__", "2").startswith("2")
distribute = tf.distribute
v1 = tf.compat.v1


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


def kind(**kwargs):
    return type(migration.run_config_to_strategy(tf.estimator.RunConfig(**kwargs))).__name__


def cluster(monkeypatch, task, **jobs):
    tasks = {job: [f"localhost:{port}" for port in ports] for job, ports in jobs.items()}
    value = {"cluster": tasks, "task": {"type": task, "index": 0}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(value))


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda: distribute.MirroredStrategy(["/cpu:0"]), "MirroredStrategy"),
        (lambda: v1.distribute.MirroredStrategy(["/cpu:0"]), "MirroredStrategy"),
        (lambda: distribute.OneDeviceStrategy("/cpu:0"), "OneDeviceStrategy"),
        (lambda: v1.distribute.OneDeviceStrategy("/cpu:0"), "OneDeviceStrategy"),
    ],
)
def test_strategies_of_one_machine_have_their_counterpart(make, expected):
    config = tf.estimator.RunConfig(train_distribute=make())
    strategy = migration.run_config_to_strategy(config)
    assert type(strategy).__name__ == expected
    assert [d.rpartition("device:")[2] for d in strategy.extended.worker_devices] == ["CPU:0"]


def test_without_a_strategy_and_a_cluster_nothing_is_distributed(monkeypatch):
    assert kind() == "_DefaultDistributionStrategy"
    cluster(monkeypatch, "chief", chief=[1])
    assert kind() == "_DefaultDistributionStrategy"


def test_a_strategy_in_place_of_a_config_is_refused():
    with pytest.raises(OptionError, match=r"takes a RunConfig.*train_distribute="):
        migration.run_config_to_strategy(distribute.OneDeviceStrategy("/cpu:0"))


def test_central_storage_is_refused_with_what_to_use():
    strategy = distribute.experimental.CentralStorageStrategy(["/cpu:0"], "/cpu:0")
    with pytest.raises(OptionError, match=r"CentralStorageStrategy has no.*MirroredStrategy"):
        kind(train_distribute=strategy)


def test_a_cluster_becomes_workers_or_parameter_servers(monkeypatch):
    made = []
    monkeypatch.setattr(distribute, "MultiWorkerMirroredStrategy", lambda: made.append("workers"))
    monkeypatch.setattr(distribute, "ParameterServerStrategy", lambda r: made.append(r.task_type))
    cluster(monkeypatch, "chief", chief=[1], worker=[2])
    kind()
    cluster(monkeypatch, "chief", chief=[1], worker=[2], ps=[3])
    if KERAS_2:
        kind()
    else:
        with pytest.raises(OptionError, match=r"have no counterpart here.*Keras 3"):
            kind()
    assert made == ["workers", "chief"][: 1 + KERAS_2]


@pytest.mark.skipif(not KERAS_2, reason="Keras 3 has no parameter servers at all")
def test_a_server_is_told_what_it_is(monkeypatch):
    cluster(monkeypatch, "ps", chief=[1], worker=[2], ps=[3])
    with pytest.raises(OptionError, match="A task of type 'ps' is a server"):
        kind()


def test_a_model_that_was_built_elsewhere_is_refused(tmp_path):
    strategy = distribute.MirroredStrategy(["/cpu:0"])
    config = tf.estimator.RunConfig(str(tmp_path), train_distribute=strategy)

    def build():
        model = tf.keras.Sequential([tf.keras.Input((1,), name="x"), tf.keras.layers.Dense(1)])
        model.compile("sgd", "mse", jit_compile=False)
        return model

    data = tf.data.Dataset.from_tensors(({"x": [[1.0]]}, [1.0])).repeat()
    specs = (
        tf.estimator.TrainSpec(lambda: data, max_steps=2),
        tf.estimator.EvalSpec(lambda: data, steps=1),
    )
    with pytest.raises(OptionError, match=r"asks for a MirroredStrategy.*run_config_to_strategy"):
        migration.train_and_evaluate(build(), *specs, config)
    with migration.run_config_to_strategy(config).scope():
        model = build()
    metrics, _ = migration.train_and_evaluate(model, *specs, config)
    assert metrics["global_step"] == 2
