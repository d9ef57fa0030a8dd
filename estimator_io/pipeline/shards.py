"""Which part of the rows belongs to this process."""

from __future__ import annotations

import json
import os
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["checked_shard", "replicas_of", "shard_of"]

_TRAINING_TASKS = ("chief", "master", "worker")


def checked_shard(value: Any) -> tuple[int, int] | str | None:
    """Returns the option `shard`: None, "tf_config", or (index, count).

    Raises:
      OptionError: it is none of these.
    """
    if value is None or value == "tf_config":
        return value
    pair = tuple(value) if isinstance(value, (tuple, list)) else ()
    whole = all(hasattr(item, "__index__") and not isinstance(item, bool) for item in pair)
    if len(pair) != 2 or not whole or not 0 <= pair[0] < pair[1]:
        raise OptionError(
            f"shard is no part of the rows. Received: {value!r}. Expected: (index, count) with"
            " 0 <= index < count, 'tf_config', or None."
        )
    return (int(pair[0]), int(pair[1]))


def shard_of(option: tuple[int, int] | str | None, context: Any, mode: str) -> tuple[int, int]:
    """Returns (index, count): the rows `index`, `index + count`, … belong to this process.

    A distribution strategy says it by its input context, in every mode. Without one, `(index,
    count)` holds in every mode, and "tf_config" in training: the chief and the workers of the
    cluster in the environment's TF_CONFIG share the rows out; an evaluator, a parameter server,
    evaluation and prediction get all of them.

    Args:
      option: the option `shard`.
      context: the InputContext of a strategy, or None.
      mode: "train", "eval" or "infer".

    Raises:
      OptionError: `(index, count)` contradicts the strategy, or TF_CONFIG cannot be read.
    """
    if context is not None and context.num_input_pipelines > 1:
        told = (context.input_pipeline_id, context.num_input_pipelines)
        if isinstance(option, tuple) and option != told:
            raise OptionError(
                f"shard={option} contradicts the distribution strategy, which gives this process"
                f" part {told[0]} of {told[1]}. Leave shard out."
            )
        return told
    if isinstance(option, tuple):
        return option
    if option == "tf_config" and mode == "train":
        return _shard_of_task(os.environ.get("TF_CONFIG", ""))
    return (0, 1)


def replicas_of(context: Any) -> int:
    """Returns how many replicas take a batch of one input pipeline in one step.

    Args:
      context: the InputContext of a strategy, or None.
    """
    if context is None:
        return 1
    return max(1, context.num_replicas_in_sync // context.num_input_pipelines)


def _shard_of_task(text: str) -> tuple[int, int]:
    """Returns the place of this task among the chief and the workers of a cluster."""
    try:
        config = json.loads(text or "{}")
        cluster, task = config.get("cluster", {}), config.get("task", {})
        sizes = {kind: len(cluster.get(kind, ())) for kind in _TRAINING_TASKS}
        kind, index = task.get("type", "worker"), int(task.get("index", 0))
    except (ValueError, TypeError, AttributeError) as error:
        raise OptionError(
            f"shard='tf_config', but TF_CONFIG cannot be read ({error}). Received: {text!r:.200}."
            ' Expected: JSON such as {"cluster": {"worker": ["host:port", …]}, "task": {"type":'
            ' "worker", "index": 0}}.'
        ) from error
    count = sum(sizes.values())
    if kind not in _TRAINING_TASKS or count <= 1:
        return (0, 1)
    before = sum(sizes[each] for each in _TRAINING_TASKS[: _TRAINING_TASKS.index(kind)])
    if index >= sizes[kind]:
        raise OptionError(
            f"shard='tf_config', but TF_CONFIG names task {kind} {index}, and its cluster has"
            f" {sizes[kind]} of that type."
        )
    return (before + index, count)
