"""Which part of the work is this process's own, as TF_CONFIG says."""

from __future__ import annotations

from typing import Any

from estimator_io.errors import OptionError

__all__ = ["is_evaluator", "require_local", "training_tasks"]


def is_evaluator(config: Any) -> bool:
    """Whether this process evaluates what others train."""
    return getattr(config, "task_type", None) == "evaluator"


def training_tasks(config: Any) -> dict[str, int]:
    """Returns the number of tasks by job, without evaluators; empty where there is no cluster."""
    cluster = getattr(config, "cluster_spec", None)
    jobs = cluster.as_dict() if cluster else {}
    return {job: len(tasks) for job, tasks in jobs.items() if job != "evaluator"}


def require_local(config: Any) -> None:
    """Refuses a cluster of several training tasks.

    Raises:
      OptionError: naming its jobs, and what to use.
    """
    tasks = training_tasks(config)
    if sum(tasks.values()) > 1:
        raise OptionError(
            f"train_and_evaluate trains in one process. Received: a TF_CONFIG with {tasks}. For"
            " several workers build the model under migration.run_config_to_strategy(config)"
            ".scope() and call model.fit(**migration.fit_arguments(…)); a task of type 'evaluator'"
            " may run train_and_evaluate."
        )
