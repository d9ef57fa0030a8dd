"""Times taken inside a legacy graph: when a step asked for its batch, got it, and was done."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.hooks.stamp_log import StampLog

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
# What ends a step and takes no time itself, so that the time just before it is the step's end.
LIGHT = (*UPDATES, "NoOp", "Identity")


class GraphStamps:
    """Adds operations that note the times of each step, for whoever reads them later.

    Nothing is fetched, and nothing runs that the step would not run: the operations hang between
    the requests for batches and the last operation of a training step, and run where that runs. A
    graph may hold inputs and optimizers that a step leaves alone.

    Args:
      graph: the graph of the training, before it is finalized.

    Attributes:
      waits: whether waiting for a batch can be seen.
    """

    def __init__(self, graph: Any) -> None:
        asking = _reachable(op for op in graph.get_operations() if op.type in ASKING)
        ends = {end: _behind(end, asking) for end in _ends(graph)}
        if asking:
            ends = {end: found for end, found in ends.items() if found}
        lonely = [op for op in asking if not any(op in found for found in ends.values())]
        self.waits = False
        self._log: StampLog | None = None
        self._requests = asking
        with graph.as_default(), tf.device("/cpu:0"), v1.name_scope("input_monitor"):
            for end, found in ends.items():
                self._hang_before([end], found, _done(end))
            for op in lonely:
                self._hang_before(_users(op), [op], None)
            if self._log is not None:
                self._log.add_reading()

    def read(self, session: Any) -> tuple[np.ndarray, np.ndarray]:
        """Returns and forgets what was noted.

        Returns:
          float64 [m, 2], when a batch was asked for and was there, and float64 [k], when a step
          was done; in seconds since the epoch.
        """
        if self._log is None:
            return np.empty((0, 2)), np.empty(0)
        rows = self._log.read_session(session)
        requests = rows[:, :-1].reshape(-1, 2)
        return requests[~np.isnan(requests[:, 0])], rows[~np.isnan(rows[:, -1]), -1]

    def _hang_before(self, operations: list[Any], found: list[Any], done: Any) -> None:
        """Has the stamps of `found` noted before `operations`, wherever these run."""
        if not operations:
            return
        if self._log is None:
            self._log = StampLog(2 * len(self._requests) + 1)
            self._nothing = tf.constant(np.nan, tf.float64)
            self._stamps: dict[Any, list[Any]] = {}
        row: list[Any] = []
        for op in self._requests:
            row += self._around(op) if op in found else [self._nothing] * 2
        with tf.control_dependencies(None):
            note = self._log.note([*row, self._nothing if done is None else done])
        for operation in operations:
            operation._add_control_input(note)
        self.waits = self.waits or bool(found)

    def _around(self, op: Any) -> list[Any]:
        if op not in self._stamps:
            asked = _stamp_after(op.control_inputs)
            op._add_control_input(asked.op)
            self._stamps[op] = [asked, _stamp_after([op])]
        return self._stamps[op]


def _stamp_after(operations: list[Any]) -> Any:
    with tf.control_dependencies(None), tf.control_dependencies(operations):
        return tf.timestamp()


def _done(end: Any) -> Any:
    """Returns the time at which nothing but the last operation is left of a step; or None."""
    if end.type not in LIGHT:
        return None
    return _stamp_after([*end.control_inputs, *(tensor.op for tensor in end.inputs)])


def _behind(end: Any, asking: list[Any]) -> list[Any]:
    """Returns those of `asking` that must have run before `end` can."""
    seen, left = {end}, [end]
    while left:
        op = left.pop()
        for other in (*op.control_inputs, *(tensor.op for tensor in op.inputs)):
            if other not in seen:
                seen.add(other)
                left.append(other)
    return [op for op in asking if op in seen]


def _users(op: Any) -> list[Any]:
    """Returns what takes the batch, once each."""
    return _reachable(dict.fromkeys(user for output in op.outputs for user in output.consumers()))


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
