"""A `StepClock` under the Estimator."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from estimator_io.demo.step_clock import StepClock

__all__ = ["TRAIN_OP", "EvaluationCounter", "StepHook"]

# The name by which the hook finds the operation that ends a step.
TRAIN_OP = "train_op"


class StepHook(tf.compat.v1.train.SessionRunHook):
    """Keeps a `StepClock` under the Estimator.

    It finds the one operation of the graph that gets the next batch, so no input_fn knows of it.
    The end of a step is taken in the graph, since other hooks, such as the one that saves and
    evaluates, may run before this one is told of it.
    """

    def __init__(self, clock: StepClock) -> None:
        self._clock = clock
        self._fetches: dict[str, Any] = {}

    def begin(self) -> None:
        """Adds the operations that note when a batch has come, its rows, and the step's end."""
        graph = tf.compat.v1.get_default_graph()
        (batch,) = [op for op in graph.get_operations() if op.type == "IteratorGetNext"]
        with tf.device("/cpu:0"):
            with tf.control_dependencies([batch]):
                arrival = tf.timestamp()
            with tf.control_dependencies([graph.get_operation_by_name(TRAIN_OP)]):
                done = tf.timestamp()
            self._fetches = {
                "arrival": arrival,
                "rows": tf.shape(batch.outputs[0])[0],
                "done": done,
            }

    def before_run(self, run_context: Any) -> Any:
        """Starts a step."""
        self._clock.begin()
        return tf.compat.v1.train.SessionRunArgs(self._fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends it."""
        self._clock.end(**run_values.results)


class EvaluationCounter(tf.compat.v1.train.SessionRunHook):
    """Counts the evaluations under the Estimator."""

    def __init__(self, clock: StepClock) -> None:
        self._clock = clock

    def end(self, session: Any) -> None:
        """Notes that one is done."""
        self._clock.evaluations += 1
