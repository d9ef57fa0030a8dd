"""Waiting for batches under fit, where the train function itself asks its iterator for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops

__all__ = ["WaitClock"]

# The class of what `iter` makes of a Dataset has no public name; not known to the type checker.
_OwnedIterator: Any = iterator_ops.OwnedIterator


class WaitClock:
    """Adds up the seconds that a train function waits for batches, and the batches.

    The function is handed iterators of a type of our own, so it is traced with two timestamps
    around each request for a batch. Nothing is added to the pipeline, and nothing of it is read.
    """

    def __init__(self) -> None:
        with tf.device("/cpu:0"):
            zeros = tf.zeros([2], tf.float64)
            self._total: Any = tf.Variable(zeros, trainable=False, name="waited_for_input")
        self._python = np.zeros(2)  # without a traced function (run_eagerly)
        self._kind = _type_of_iterators(self)
        self._known: tuple[Any, Any] = (None, None)

    def timed(self, iterator: Any) -> Any:
        """Returns an iterator over the same batches that is timed; itself if it cannot be."""
        if type(iterator) is not _OwnedIterator:
            return iterator
        if self._known[0] is not iterator:
            components = [iterator._iterator_resource]
            self._known = (iterator, self._kind(None, components, iterator.element_spec))
        return self._known[1]

    def forget(self) -> None:
        """Lets go of the iterator that was timed last, and so of its pipeline."""
        self._known = (None, None)

    def read(self) -> np.ndarray:
        """Returns the seconds waited and the number of batches since this clock was made."""
        total = tf.raw_ops.ReadVariableOp(resource=self._total.handle, dtype=tf.float64)
        return total.numpy() + self._python

    def read_untraced(self) -> np.ndarray:
        """Returns the same of batches that were asked for outside of traced functions."""
        return self._python.copy()

    def around(self, ask: Callable[[], Any], came: Callable[[Any], Any]) -> Any:
        """Returns what `ask` returns; `came(batch)` is 1 where there was one."""
        if tf.executing_eagerly():
            began = time.perf_counter()
            batch = ask()
            self._python += (time.perf_counter() - began, float(came(batch)))
            return batch
        with tf.device("/cpu:0"):
            asked = tf.timestamp()
        with tf.control_dependencies([asked]):
            batch = ask()
        with tf.device("/cpu:0"):
            with tf.control_dependencies(tf.nest.flatten(batch, expand_composites=True)):
                waited = tf.timestamp() - asked
            count = tf.cast(came(batch), tf.float64)
            self._total.assign_add(tf.stack([waited, count]), read_value=False)
        return batch


def _type_of_iterators(clock: WaitClock) -> Any:
    """Returns the type of a clock's iterators: it tells a traced function which clock is meant."""

    class TimedIterator(_OwnedIterator):
        @property
        def _type_spec(self) -> Any:
            return TimedIteratorSpec(self.element_spec)

        def __next__(self) -> Any:
            return clock.around(super().__next__, lambda _: 1.0)

        def get_next(self) -> Any:
            return clock.around(super().get_next, lambda _: 1.0)

        def get_next_as_optional(self) -> Any:
            return clock.around(super().get_next_as_optional, lambda optional: optional.has_value())

    class TimedIteratorSpec(tf.data.IteratorSpec):
        @property
        def value_type(self) -> Any:
            return TimedIterator

        def _from_components(self, components: Any) -> Any:
            return TimedIterator(None, components, self._element_spec)

        @staticmethod
        def from_value(value: Any) -> Any:
            return TimedIteratorSpec(value.element_spec)

    return TimedIterator
