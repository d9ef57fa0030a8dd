"""Waiting for batches under fit, where the train function itself asks its iterator for them."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.python.data.ops import iterator_ops

from estimator_io.hooks.stamp_log import StampLog

__all__ = ["WaitClock"]

# The class of what `iter` makes of a Dataset has no public name; not known to the type checker.
_OwnedIterator: Any = iterator_ops.OwnedIterator


class WaitClock:
    """Notes when a train function asks for batches, and when it has them.

    The function is handed iterators of a type of our own, so it is traced with two timestamps
    around each request for a batch. Nothing is added to the pipeline, and nothing of it is read.

    Attributes:
      untraced: seconds waited outside of traced functions in all, and batches that came there.
    """

    def __init__(self) -> None:
        self._log = StampLog(3)
        self._untraced: list[tuple[float, float, float]] = []  # such as by run_eagerly
        self.untraced = (0.0, 0.0)
        self._kind = _type_of_iterators(self)
        self._known: tuple[Any, Any] = (None, None)

    def timed(self, iterator: Any) -> Any:
        """Returns an iterator over the same batches that is timed; itself if it cannot be."""
        known, timed = self._known
        if known is iterator:
            return timed
        if type(iterator) is not _OwnedIterator:
            return iterator
        timed = self._kind(None, [iterator._iterator_resource], iterator.element_spec)
        self._known = (iterator, timed)
        return timed

    def forget(self) -> None:
        """Lets go of the iterator that was timed last, and so of its pipeline; and of all times."""
        self._known = (None, None)
        self.untraced = (0.0, 0.0)
        self.read()

    def read(self) -> np.ndarray:
        """Returns and forgets float64 [n, 3]: when a batch was asked for, when it came, and if.

        Times are in seconds since the epoch; the last column is 1 where there was a batch, and 0
        where there was none left.
        """
        untraced, self._untraced = self._untraced, []
        return np.concatenate([self._log.read_eagerly(), np.reshape(untraced, (-1, 3))])

    def around(self, ask: Callable[[], Any], came: Callable[[Any], Any]) -> Any:
        """Returns what `ask` returns; `came(batch)` is 1 where there was one."""
        if tf.executing_eagerly():
            return self._around_untraced(ask, came)
        with tf.device("/cpu:0"):
            asked = tf.timestamp()
        with tf.control_dependencies([asked]):
            batch = ask()
        with tf.device("/cpu:0"):
            with tf.control_dependencies(tf.nest.flatten(batch, expand_composites=True)):
                got = tf.timestamp()
            self._log.note([asked, got, tf.cast(came(batch), tf.float64)])
        return batch

    def _around_untraced(self, ask: Callable[[], Any], came: Callable[[Any], Any]) -> Any:
        asked, began = time.time(), time.perf_counter()
        batch = ask()
        waited, number = time.perf_counter() - began, float(came(batch))
        self._untraced.append((asked, asked + waited, number))
        self.untraced = (self.untraced[0] + waited, self.untraced[1] + number)
        return batch


def _type_of_iterators(clock: WaitClock) -> Any:
    """Returns the type of a clock's iterators: it tells a traced function which clock is meant."""

    class TimedIterator(_OwnedIterator):
        def __init__(self, dataset: Any, components: Any, element_spec: Any) -> None:
            super().__init__(dataset, components, element_spec)
            self._spec = TimedIteratorSpec(element_spec)

        @property
        def _type_spec(self) -> Any:  # asked for by each call of the train function
            return self._spec

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
