"""Times taken inside a legacy graph: when a step asked for its batch, got it, and was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

__all__ = ["GraphStamps"]

v1 = tf.compat.v1

# Whatever hands a step its batch: iterators, those of strategies, and the queues of old inputs.
ASKING = (
    "IteratorGetNext",
    "IteratorGetNextSync",
    "IteratorGetNextAsOptional",
    "MultiDeviceIteratorGetNextFromShard",
    "QueueDequeueV2",
    "QueueDequeueManyV2",
    "QueueDequeueUpToV2",
)
UPDATES = ("AssignAddVariableOp", "AssignAdd", "AssignVariableOp", "Assign")


class GraphStamps:
    """Adds the operations that take the times; a session fetches them with each step.

    The end of a step is taken in the graph too, since other hooks, such as one that saves and
    evaluates, may run before ours is told of it.

    Args:
      graph: the graph of the training, before it is finalized.

    Attributes:
      fetch: float64 [2] or [3], seconds since the epoch: asked for the batch, got it, done. None
        where nothing in the graph asks for a batch.
    """

    def __init__(self, graph: Any) -> None:
        asking = _reachable(op for op in graph.get_operations() if op.type in ASKING)
        self.fetch: Any = None
        if not asking:
            return
        ends = _ends(graph)
        with graph.as_default(), tf.device("/cpu:0"), v1.name_scope("input_monitor"):
            with tf.control_dependencies(None):
                asked = tf.timestamp()
            for op in asking:
                op._add_control_input(asked.op)
            stamps = [asked]
            for operations in (asking, ends):
                if operations:
                    with tf.control_dependencies(None), tf.control_dependencies(operations):
                        stamps.append(tf.timestamp())
            self.fetch = tf.stack(stamps)


def _ends(graph: Any) -> list[Any]:
    """Returns what ends a step: the updates of the optimizers, or that of the global step."""
    collected = graph.get_collection(v1.GraphKeys.TRAIN_OP)
    ends = _reachable(getattr(item, "op", item) for item in collected)
    if ends:
        return ends
    step = v1.train.get_global_step(graph)
    if step is None:
        return []
    counter = getattr(step, "handle", step)
    return _reachable(
        op
        for op in graph.get_operations()
        if op.type in UPDATES and _is(op.inputs[0], counter) and op.name != step.initializer.name
    )


def _reachable(operations: Iterable[Any]) -> list[Any]:
    """Returns those that others may wait for: not inside a branch or a loop of a legacy graph."""
    return [op for op in operations if op._get_control_flow_context() is None]


def _is(tensor: Any, other: Any) -> bool:
    return tensor.name == getattr(other, "name", None)
