"""The distribute coordinator's entry points, against TensorFlow's own where it still has them."""

from __future__ import annotations

import json
from types import SimpleNamespace
from typing import Any

import pytest

from tests.compat.conftest import OWN_ESTIMATOR

CLUSTER = {
    "chief": ["localhost:1"],
    "worker": ["localhost:2", "localhost:3"],
    "ps": ["localhost:4"],
}


@pytest.fixture(params=["rebuilt", "original"] if OWN_ESTIMATOR else ["rebuilt"])
def module(request: pytest.FixtureRequest, tf: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The module under test, put where tensorflow-estimator looks for it."""
    from tensorflow_estimator.python.estimator import run_config

    if request.param == "original":
        return run_config.distribute_coordinator_training
    from estimator_io.compat.rebuilt import estimator_training

    monkeypatch.setattr(run_config, "distribute_coordinator_training", estimator_training)
    return estimator_training


def set_cluster(monkeypatch: pytest.MonkeyPatch, task: str, index: int, **cluster: Any) -> None:
    value = {"cluster": cluster or CLUSTER, "task": {"type": task, "index": index}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(value))


def test_a_local_strategy_needs_no_coordinator(module: Any, tf: Any) -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    config = tf.estimator.RunConfig(train_distribute=strategy)
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.task_id, config.is_chief) == ("worker", 0, True)
    assert config.num_worker_replicas == 1
    assert not module.should_run_distribute_coordinator(config)


def test_a_strategy_in_a_cluster_runs_each_worker_independently(
    module: Any, tf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cluster(monkeypatch, "worker", 1)
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    config = tf.estimator.RunConfig(train_distribute=strategy)
    assert config._distribute_coordinator_mode == "independent_worker"
    assert config.cluster_spec.as_dict() == CLUSTER
    assert module.should_run_distribute_coordinator(config)


def test_a_cluster_with_a_master_needs_no_coordinator(
    module: Any, tf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cluster(monkeypatch, "worker", 0, master=["a:1"], worker=["b:1"], ps=["c:1"])
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    config = tf.estimator.RunConfig(train_distribute=strategy)
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.master) == ("worker", "grpc://b:1")


def test_a_cluster_without_a_strategy_keeps_its_own_settings(
    module: Any, tf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cluster(monkeypatch, "worker", 1)
    config = tf.estimator.RunConfig(
        experimental_distribute=SimpleNamespace(
            train_distribute=None, eval_distribute=None, remote_cluster=None
        )
    )
    assert config._distribute_coordinator_mode is None
    assert (config.task_type, config.task_id) == ("worker", 1)
    assert (config.num_worker_replicas, config.num_ps_replicas) == (3, 1)


def remote(**given: Any) -> SimpleNamespace:
    return SimpleNamespace(
        **{"train_distribute": None, "eval_distribute": None, "remote_cluster": None, **given}
    )


def test_a_remote_cluster_is_run_by_a_standalone_client(module: Any, tf: Any) -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    config = tf.estimator.RunConfig(
        experimental_distribute=remote(
            train_distribute=strategy, remote_cluster={"worker": ["a:1"]}
        )
    )
    assert config._distribute_coordinator_mode == "standalone_client"
    assert config.train_distribute is strategy
    assert config.cluster_spec == {"worker": ["a:1"]}


@pytest.mark.parametrize("phase", ["train_distribute", "eval_distribute"])
def test_a_strategy_given_in_two_places_is_refused(module: Any, tf: Any, phase: str) -> None:
    strategy = tf.distribute.OneDeviceStrategy("/cpu:0")
    twice = {phase: strategy, "experimental_distribute": remote(**{phase: strategy})}
    with pytest.raises(ValueError, match=phase):
        tf.estimator.RunConfig(**twice)


def test_a_cluster_given_in_two_places_is_refused(
    module: Any, tf: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_cluster(monkeypatch, "worker", 0)
    given = remote(
        train_distribute=tf.distribute.OneDeviceStrategy("/cpu:0"),
        remote_cluster={"worker": ["a:1"]},
    )
    with pytest.raises(ValueError, match="cluster"):
        tf.estimator.RunConfig(experimental_distribute=given)


def test_an_unknown_coordinator_mode_is_not_run(module: Any) -> None:
    config = SimpleNamespace(_distribute_coordinator_mode="nonsense", cluster_spec={"a": 1})
    assert not module.should_run_distribute_coordinator(config)
    assert not module.should_run_distribute_coordinator(SimpleNamespace())


def test_a_coordinator_mode_without_a_cluster_trains_locally(module: Any) -> None:
    config = SimpleNamespace(_distribute_coordinator_mode="independent_worker", cluster_spec={})
    assert not module.should_run_distribute_coordinator(config)


def test_train_and_evaluate_without_a_mode_is_refused(module: Any) -> None:
    config = SimpleNamespace(_distribute_coordinator_mode=None)
    with pytest.raises(ValueError, match="mode"):
        module.train_and_evaluate(SimpleNamespace(config=config), None, None, None)


class FakeEstimator:
    """Records with which settings a task was asked to train."""

    def __init__(self, mode: str, between_graph: bool = False, **cluster: Any) -> None:
        from tensorflow.python.training import server_lib

        extended = SimpleNamespace(experimental_between_graph=between_graph)
        strategy = SimpleNamespace(extended=extended)
        self._config = SimpleNamespace(
            _distribute_coordinator_mode=mode,
            cluster_spec=server_lib.ClusterSpec(cluster),
            _train_distribute=strategy,
            train_distribute=strategy,
            _eval_distribute=strategy,
            eval_distribute=strategy,
            session_config=None,
        )
        self.config = self._config
        self.hooks: Any = None

    def train(self, input_fn: Any, max_steps: int, hooks: Any) -> None:
        RECORDED.append((self._config, hooks, max_steps))


RECORDED: list[Any] = []


def run_as(monkeypatch: pytest.MonkeyPatch, module: Any, task: str, index: int) -> list[Any]:
    """Makes the coordinator call the worker or the evaluator function as one task would."""
    from tensorflow.python.training import server_lib

    context = SimpleNamespace(
        cluster_spec=server_lib.ClusterSpec({**CLUSTER, "evaluator": ["localhost:9"]}),
        task_type=task,
        task_id=index,
        master_target="grpc://target",
        is_chief=task == "chief",
    )
    monkeypatch.setattr(module.dc_context, "get_current_worker_context", lambda: context)
    calls: list[Any] = []

    def coordinator(worker_fn: Any, strategy: Any, *more: Any, **options: Any) -> Any:
        calls.append(options)
        return (more[0] if task == "evaluator" else worker_fn)("strategy")

    monkeypatch.setattr(module.dc, "run_distribute_coordinator", coordinator)
    RECORDED.clear()
    return calls


@pytest.mark.parametrize(
    ("task", "index", "global_id"), [("chief", 0, 0), ("worker", 1, 3), ("ps", 0, 4)]
)
def test_each_task_trains_with_its_own_place_in_the_cluster(
    module: Any, monkeypatch: pytest.MonkeyPatch, task: str, index: int, global_id: int
) -> None:
    calls = run_as(monkeypatch, module, task, index)
    spec = SimpleNamespace(input_fn=None, max_steps=5, hooks=["hook"])
    estimator: Any = FakeEstimator("independent_worker", **CLUSTER)
    module.train_and_evaluate(estimator, spec, None, None)
    ((config, hooks, max_steps),) = RECORDED
    assert (hooks, max_steps) == (["hook"], 5)
    assert (config._task_type, config._task_id) == (task, index)
    assert config._global_id_in_cluster == global_id
    assert (config._num_worker_replicas, config._num_ps_replicas) == (3, 1)
    assert config._master == config._evaluation_master == "grpc://target"
    assert config._is_chief == (task == "chief")
    assert config._distribute_coordinator_mode is None
    assert config._train_distribute == "strategy"
    assert estimator._config._distribute_coordinator_mode == "independent_worker"
    assert calls == [{"mode": "independent_worker", "cluster_spec": None, "session_config": None}]


def test_the_evaluator_knows_no_cluster(module: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    run_as(monkeypatch, module, "evaluator", 0)
    started: list[Any] = []

    def executor(estimator: Any, train_spec: Any, eval_spec: Any) -> Any:
        return SimpleNamespace(_start_continuous_evaluation=lambda: started.append(estimator))

    estimator: Any = FakeEstimator("independent_worker", **CLUSTER)
    module.train_and_evaluate(estimator, SimpleNamespace(hooks=[]), None, executor)
    config = started[0]._config
    assert not config._cluster_spec
    assert (config._num_worker_replicas, config._num_ps_replicas) == (0, 0)
    assert config._global_id_in_cluster is None


def test_a_standalone_client_gives_hooks_to_the_chief_only(
    module: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    spec = SimpleNamespace(input_fn=None, max_steps=5, hooks=["hook"])
    for task, expected in (("chief", ["hook"]), ("worker", [])):
        calls = run_as(monkeypatch, module, task, 0)
        estimator: Any = FakeEstimator("standalone_client", **CLUSTER)
        module.train_and_evaluate(estimator, spec, None, None)
        assert RECORDED[0][1] == expected
        assert calls[0]["cluster_spec"] is estimator.config.cluster_spec


@pytest.mark.parametrize("method", ["estimator_train", "estimator_evaluate"])
def test_train_and_evaluate_alone_run_on_a_remote_cluster(
    module: Any, monkeypatch: pytest.MonkeyPatch, method: str
) -> None:
    run_as(monkeypatch, module, "chief", 0)
    called: list[Any] = []
    estimator: Any = FakeEstimator("standalone_client", **CLUSTER)
    getattr(module, method)(
        estimator, lambda est, strategy, hooks: called.append((strategy, hooks)), ["hook"]
    )
    assert called == [("strategy", ["hook"])]


@pytest.mark.parametrize("method", ["estimator_train", "estimator_evaluate"])
@pytest.mark.parametrize(
    "estimator",
    [
        lambda: FakeEstimator("independent_worker", **CLUSTER),
        lambda: FakeEstimator("standalone_client", evaluator=["a:1"], worker=["b:1"]),
        lambda: FakeEstimator("standalone_client", between_graph=True, **CLUSTER),
    ],
)
def test_what_a_remote_cluster_cannot_do_is_refused(
    module: Any, tf: Any, method: str, estimator: Any
) -> None:
    with pytest.raises(ValueError, match=r"support|cannot use|runs on|does not run"):
        getattr(module, method)(estimator(), None, [])
