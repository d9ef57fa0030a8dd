"""Which part of the work is this process's own, as TF_CONFIG says."""

from __future__ import annotations

from typing import Any

from estimator_io.errors import OptionError

__all__ = ["is_evaluator", "require_local", "require_trainable", "training_tasks"]

_IN_STEP = (
    "Take tf.distribute.MultiWorkerMirroredStrategy: TF_CONFIG with tasks of the types 'chief' and"
    " 'worker' alone, the model built under migration.run_config_to_strategy(config).scope(), and"
    " an 'evaluator' besides if checkpoints are to be evaluated. Or keep the Estimator"
    " (estimator_io.compat)."
)


def is_evaluator(config: Any) -> bool:
    """Whether this process evaluates what others train."""
    return getattr(config, "task_type", None) == "evaluator"


def training_tasks(config: Any) -> dict[str, int]:
    """Returns the number of tasks by job, without evaluators; empty where there is no cluster."""
    cluster = getattr(config, "cluster_spec", None)
    jobs = cluster.as_dict() if cluster else {}
    return {job: len(tasks) for job, tasks in jobs.items() if job != "evaluator"}


def require_trainable(config: Any, workers: int) -> None:
    """Refuses a task that the loop over fit has no work for.

    Args:
      config: the RunConfig.
      workers: that train the model in step.

    Raises:
      OptionError: naming the task and the jobs of its cluster, and what to use.
    """
    tasks = training_tasks(config)
    if sum(tasks.values()) <= 1:
        return
    task = f"the task {config.task_type!r} of a TF_CONFIG with {tasks}"
    if "ps" in tasks:
        raise OptionError(
            "train_and_evaluate over fit does not train with parameter servers, whose workers take"
            f" steps of their own. Received: {task}. {_IN_STEP}"
        )
    if "master" in tasks:
        raise OptionError(
            "A 'master' would evaluate while the workers wait for its next step. Received:"
            f" {task}. Call the task 'chief', and start one of type 'evaluator'."
        )
    if workers != sum(tasks.values()):
        raise OptionError(
            f"The model was not built for several workers. Received: {task}, and a model of"
            f" {workers} worker{'s' * (workers > 1)}. {_IN_STEP}"
        )


def require_local(config: Any) -> None:
    """Refuses a cluster of several training tasks, for a ModelFnModel.

    Raises:
      OptionError: naming its jobs, and what to use.
    """
    tasks = training_tasks(config)
    if sum(tasks.values()) > 1:
        raise OptionError(
            f"A ModelFnModel trains in one process. Received: the task {config.task_type!r} of a"
            f" TF_CONFIG with {tasks}. Keep tf.estimator.train_and_evaluate for the cluster"
            " (estimator_io.compat), or port the model to Keras. A task of type 'evaluator' may"
            " run migration.train_and_evaluate."
        )
