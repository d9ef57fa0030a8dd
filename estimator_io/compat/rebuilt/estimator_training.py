"""Stands in for `tensorflow.python.distribute.estimator_training`.

tensorflow-estimator asks it to set a RunConfig up for a distribution strategy, and to hand
train, evaluate and train_and_evaluate over to TensorFlow's distribute coordinator, which starts
the servers of a cluster and calls a function for each of its tasks.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from tensorflow.python.distribute import distribute_coordinator as dc
from tensorflow.python.distribute import distribute_coordinator_context as dc_context
from tensorflow.python.distribute import multi_worker_util
from tensorflow.python.platform import tf_logging as logging
from tensorflow.python.training import server_lib

CHIEF = "chief"
EVALUATOR = "evaluator"
PS = "ps"
WORKER = "worker"

_MODES = (dc.CoordinatorMode.STANDALONE_CLIENT, dc.CoordinatorMode.INDEPENDENT_WORKER)


def init_run_config(config: Any, tf_config: dict[str, Any]) -> None:
    """Sets the distributed part of a RunConfig from its strategies and from TF_CONFIG.

    Args:
      config: the RunConfig under construction.
      tf_config: the parsed TF_CONFIG; an empty dict where there is none.

    Raises:
      ValueError: a strategy or a cluster is given in two places.
    """
    for phase in ("train_distribute", "eval_distribute"):
        _adopt_experimental_strategy(config, phase)
    cluster = server_lib.ClusterSpec(tf_config.get("cluster", {}))
    # The local defaults come first: with a coordinator the task's own settings arrive only later.
    config._init_distributed_setting_from_environment_var({})

    remote = getattr(config._experimental_distribute, "remote_cluster", None)
    if config._train_distribute and remote:
        if cluster:
            raise ValueError(
                "The cluster is given twice, in TF_CONFIG and as "
                "`experimental_distribute.remote_cluster`; leave one of them out."
            )
        _use_coordinator(config, dc.CoordinatorMode.STANDALONE_CLIENT, remote)
    elif config._train_distribute and cluster and "master" not in cluster.jobs:
        _use_coordinator(config, dc.CoordinatorMode.INDEPENDENT_WORKER, cluster)
    else:
        config._distribute_coordinator_mode = None
        config._init_distributed_setting_from_environment_var(tf_config)
        config._maybe_overwrite_session_config_for_distributed_training()
        logging.info("Not using Distribute Coordinator.")


def _adopt_experimental_strategy(config: Any, phase: str) -> None:
    strategy = getattr(config._experimental_distribute, phase, None)
    if not strategy:
        return
    if getattr(config, f"_{phase}"):
        raise ValueError(
            f"The strategy is given twice, as `{phase}` and as `experimental_distribute.{phase}`; "
            "leave one of them out."
        )
    setattr(config, f"_{phase}", strategy)


def _use_coordinator(config: Any, mode: str, cluster: Any) -> None:
    config._distribute_coordinator_mode = mode
    config._cluster_spec = cluster
    logging.info("RunConfig initialized for Distribute Coordinator with %s mode", mode.upper())


def should_run_distribute_coordinator(config: Any) -> bool:
    """Returns whether train_and_evaluate has to go through the distribute coordinator."""
    mode = getattr(config, "_distribute_coordinator_mode", None)
    if mode is None:
        logging.info("Not using Distribute Coordinator.")
        return False
    if mode not in _MODES:
        logging.warning("Unexpected distribute_coordinator_mode: %r", mode)
        return False
    if not config.cluster_spec:
        logging.warning("Training runs locally: a coordinator mode is set, but no cluster.")
        return False
    return True


def train_and_evaluate(
    estimator: Any, train_spec: Any, eval_spec: Any, executor_cls: Callable[..., Any]
) -> None:
    """Trains on every worker of the cluster, and evaluates continuously on its evaluator.

    Args:
      estimator: the Estimator; each task gets its own copy.
      train_spec: the TrainSpec.
      eval_spec: the EvalSpec.
      executor_cls: tensorflow-estimator's executor, which owns the evaluator's loop.

    Raises:
      ValueError: the RunConfig names no coordinator mode.
    """
    config = estimator.config
    mode = config._distribute_coordinator_mode
    if not mode:
        raise ValueError("The RunConfig of the Estimator has no distribute coordinator mode.")
    standalone = mode == dc.CoordinatorMode.STANDALONE_CLIENT

    def train(strategy: Any) -> None:
        local, is_chief = _copy_for_task(estimator, "train", strategy)
        # A standalone client runs all workers as threads of one process: hooks there belong to
        # the chief's graph only.
        hooks = list(train_spec.hooks) if is_chief or not standalone else []
        local.train(input_fn=train_spec.input_fn, max_steps=train_spec.max_steps, hooks=hooks)

    def evaluate(strategy: Any) -> None:
        local, _ = _copy_for_task(estimator, "eval", strategy)
        executor_cls(local, train_spec, eval_spec)._start_continuous_evaluation()

    dc.run_distribute_coordinator(
        train,
        config.train_distribute,
        evaluate,
        config.eval_distribute,
        mode=mode,
        cluster_spec=config.cluster_spec if standalone else None,
        session_config=config.session_config,
    )


def estimator_train(estimator: Any, train_distributed_fn: Callable[..., Any], hooks: Any) -> Any:
    """Runs `Estimator.train` on a remote cluster; returns what the coordinator returns."""

    def train(strategy: Any) -> Any:
        local, is_chief = _copy_for_task(estimator, "train", strategy, keep_mode=True)
        train_distributed_fn(local, strategy, hooks if is_chief else [])
        return local

    return _run_standalone(estimator, "train", train)


def estimator_evaluate(
    estimator: Any, evaluate_distributed_fn: Callable[..., Any], hooks: Any
) -> Any:
    """Runs `Estimator.evaluate` on a remote cluster; returns what the coordinator returns."""

    def evaluate(strategy: Any) -> Any:
        local, is_chief = _copy_for_task(estimator, "eval", strategy, keep_mode=True)
        return evaluate_distributed_fn(local, strategy, hooks if is_chief else [])

    return _run_standalone(estimator, "eval", evaluate)


def _run_standalone(estimator: Any, phase: str, worker_fn: Callable[[Any], Any]) -> Any:
    method = {"train": "Estimator.train", "eval": "Estimator.evaluate"}[phase]
    config = estimator._config
    strategy = getattr(config, f"_{phase}_distribute")
    cluster = multi_worker_util.normalize_cluster_spec(config.cluster_spec)
    if EVALUATOR in cluster.jobs:
        raise ValueError(
            f"The cluster has an 'evaluator' job, which {method} cannot use; "
            "call `train_and_evaluate`, or leave the job out."
        )
    if config._distribute_coordinator_mode != dc.CoordinatorMode.STANDALONE_CLIENT:
        raise ValueError(
            f"{method} runs on a cluster in `STANDALONE_CLIENT` mode only; "
            "call `train_and_evaluate`, or set `experimental_distribute.remote_cluster`."
        )
    if strategy.extended.experimental_between_graph:
        raise ValueError(
            f"{method} does not run {type(strategy).__name__} in `STANDALONE_CLIENT` mode, "
            "since each worker would return its own result; call `train_and_evaluate`."
        )
    return dc.run_distribute_coordinator(
        worker_fn,
        strategy,
        mode=config._distribute_coordinator_mode,
        cluster_spec=cluster,
        session_config=config.session_config,
    )


def _copy_for_task(
    estimator: Any, phase: str, strategy: Any, keep_mode: bool = False
) -> tuple[Any, bool]:
    """Returns a copy of the Estimator set up for the calling task, and whether that is chief."""
    local = copy.deepcopy(estimator)
    context: Any = dc_context.get_current_worker_context()
    setattr(local._config, f"_{phase}_distribute", strategy)
    setattr(local, f"_{phase}_distribution", strategy)
    _apply_worker_context(local._config, context)
    logging.info("Updated config: %s", str(vars(local._config)))
    if not keep_mode:
        # Otherwise train and evaluate would hand over to the coordinator once more.
        local._config._distribute_coordinator_mode = None
    return local, context.is_chief


def _apply_worker_context(config: Any, context: Any) -> None:
    cluster = context.cluster_spec
    config._service = None
    config._task_type, config._task_id = context.task_type, context.task_id
    config._master = config._evaluation_master = context.master_target
    config._is_chief = context.is_chief
    config._cluster_spec = cluster
    config._num_ps_replicas, config._num_worker_replicas = 0, 1
    config._global_id_in_cluster = 0
    if cluster and context.task_type == EVALUATOR:
        # The evaluator stands beside the cluster, and must not wait for it.
        config._cluster_spec = server_lib.ClusterSpec({})
        config._num_worker_replicas = 0
        config._global_id_in_cluster = None
    elif cluster:
        tasks = {job: len(cluster.job_tasks(job)) for job in cluster.jobs}
        config._num_ps_replicas = tasks.get(PS, 0)
        config._num_worker_replicas = tasks.get(CHIEF, 0) + tasks.get(WORKER, 0)
        config._global_id_in_cluster = _global_id(tasks, context.task_type, context.task_id)


def _global_id(tasks: dict[str, int], task_type: str | None, task_id: int) -> int:
    """Numbers all tasks through: the chief, then other jobs by name, then parameter servers."""
    if not task_type:
        return 0
    if task_type not in tasks:
        raise RuntimeError(f"The task type {task_type!r} is not one of the cluster's {tasks}.")
    ordered = sorted(tasks, key=lambda job: (job != CHIEF, job == PS, job))
    return sum(tasks[job] for job in ordered[: ordered.index(task_type)]) + task_id
