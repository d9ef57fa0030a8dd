"""A training step of fixed length that uses no CPU, driven by the Estimator or a plain session.

The step waits in TensorFlow's own code (a SleepDataset), so it holds neither a core nor Python's
lock: to the host it looks like a step on an accelerator. It begins when its batch has arrived.
"""

from __future__ import annotations

import contextlib
import dataclasses
import gc
import inspect
import tempfile
import time
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

__all__ = ["LOOPS", "Timeline", "batches_alone", "sleep_step", "train"]

InputFunction = Callable[..., Any]


@dataclasses.dataclass(frozen=True)
class Timeline:
    """When the steps of one run ended.

    Attributes:
      ends: seconds from the call of train to the end of each step.
      cpu: CPU seconds that the process had used by then, over all its threads.
    """

    ends: list[float]
    cpu: list[float]

    @property
    def first(self) -> float:
        """Seconds from the call to the end of the first step, with building the graph."""
        return self.ends[0]

    def seconds_a_step(self, skip: int) -> float:
        """Returns the mean length of the steps behind the first `skip`, in seconds."""
        return (self.ends[-1] - self.ends[skip - 1]) / (len(self.ends) - skip)

    def cpu_seconds_a_step(self, skip: int) -> float:
        """Returns the CPU seconds used a step, on all cores, behind the first `skip`."""
        return (self.cpu[-1] - self.cpu[skip - 1]) / (len(self.cpu) - skip)

    @property
    def seconds_a_step_from_call(self) -> float:
        """Mean seconds a step over the whole run, start and first batch included."""
        return self.ends[-1] / len(self.ends)


def train(input_fn: InputFunction, *, step_seconds: float, steps: int, loop: str) -> Timeline:
    """Trains on `input_fn` for `steps` steps and returns when each of them ended.

    Args:
      input_fn: as the Estimator takes it.
      step_seconds: the fixed length of a step.
      steps: how many to run.
      loop: a key of `LOOPS`.
    """
    clock = _Clock()
    with contextlib.closing(clock):
        LOOPS[loop](input_fn, step_seconds, steps, clock)
    # Sessions end when they are collected; until then their input threads would work on.
    gc.collect()
    return Timeline(clock.ends, clock.cpu)


class _Clock(tf.compat.v1.train.SessionRunHook):
    """Notes when each step ended."""

    def __init__(self) -> None:
        self.ends: list[float] = []
        self.cpu: list[float] = []
        self._start, self._cpu_start = time.perf_counter(), time.process_time()
        # A collection in the middle of a run would be counted to whichever variant met it.
        gc.disable()

    def after_run(self, run_context: Any, run_values: Any) -> None:
        self.ends.append(time.perf_counter() - self._start)
        self.cpu.append(time.process_time() - self._cpu_start)

    def close(self) -> None:
        gc.enable()


def sleep_step(step_seconds: float, after: list[Any]) -> Any:
    """Returns a tensor that is there `step_seconds` after all of `after`, at the cost of no CPU."""
    structure = tf.TensorSpec([], tf.int64)
    numbers = tf.data.Dataset.range(1 << 62)
    options = tf.data.Options()
    # Any rewrite would prefetch, and the step would be over before its batch has come.
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    sleeping = tf.raw_ops.SleepDataset(
        input_dataset=numbers._variant_tensor,
        sleep_microseconds=tf.constant(round(step_seconds * 1e6), tf.int64),
        output_types=[tf.int64],
        output_shapes=[tf.TensorShape([])],
    )
    dataset = tf.data.experimental.from_variant(sleeping, structure).with_options(options)
    iterator = tf.compat.v1.data.make_initializable_iterator(dataset)
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    with tf.control_dependencies(after):
        return iterator.get_next()


def _train_op(features: Any, labels: Any, step_seconds: float) -> tuple[Any, Any]:
    batch = tf.nest.flatten((features, labels))
    stepped = sleep_step(step_seconds, [tf.identity(part) for part in batch])
    with tf.control_dependencies([stepped]):
        counted = tf.compat.v1.train.get_or_create_global_step().assign_add(1, read_value=False)
        return counted, tf.constant(0.0)


def _model_fn(features: Any, labels: Any, mode: str, params: dict[str, Any]) -> Any:
    train_op, loss = _train_op(features, labels, params["step_seconds"])
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def _with_estimator(
    input_fn: InputFunction, step_seconds: float, steps: int, clock: _Clock
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        config = tf.estimator.RunConfig(
            model_dir=folder,
            save_checkpoints_steps=None,
            save_checkpoints_secs=None,
            save_summary_steps=None,
            log_step_count_steps=None,
        )
        estimator = tf.estimator.Estimator(
            _model_fn, config=config, params={"step_seconds": step_seconds}
        )
        estimator.train(input_fn, steps=steps, hooks=[clock])


def _with_session(input_fn: InputFunction, step_seconds: float, steps: int, clock: _Clock) -> None:
    with tf.Graph().as_default():
        features, labels = _next_batch(input_fn)
        train_op, _ = _train_op(features, labels, step_seconds)
        with tf.compat.v1.train.MonitoredSession(hooks=[clock]) as session:
            for _ in range(steps):
                session.run(train_op)


def _next_batch(input_fn: InputFunction) -> Any:
    made = input_fn(mode="train") if _takes_mode(input_fn) else input_fn()
    if not isinstance(made, tf.data.Dataset):
        return made
    iterator = tf.compat.v1.data.make_initializable_iterator(made)
    tf.compat.v1.add_to_collection(tf.compat.v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def _takes_mode(input_fn: InputFunction) -> bool:
    return "mode" in inspect.signature(input_fn).parameters


@contextlib.contextmanager
def batches_alone(input_fn: InputFunction) -> Iterator[Callable[[], None]]:
    """Gives a function that makes one batch of `input_fn`, without any step."""
    with tf.Graph().as_default():
        parts = tf.nest.flatten(_next_batch(input_fn))
        # Fetching an op, not the tensors, spares the copy into NumPy arrays.
        made = tf.group(*parts)
        with tf.compat.v1.train.MonitoredSession() as session:
            yield lambda: session.run(made)
    gc.collect()


LOOPS: dict[str, Callable[[InputFunction, float, int, _Clock], None]] = {
    "estimator": _with_estimator,
    "session": _with_session,
}
