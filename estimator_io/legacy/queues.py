"""The queues of the old numpy_input_fn and pandas_input_fn as Datasets of the same batches."""

from __future__ import annotations

import collections
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["Rows", "rows_of"]


def rows_of(
    data: Any,
    *,
    shuffle: bool = False,
    num_threads: int = 1,
    seed: int | None = None,
    num_epochs: int | None = None,
    pad_value: Any = None,
    **_: Any,
) -> Rows | None:
    """Returns what the queue of such rows would yield; None where a Dataset could differ.

    Several threads read the rows several times, which no order tells; only where they read without
    an end and shuffled does that not show.
    """
    if pad_value is not None or (num_threads > 1 and not (shuffle and num_epochs is None)):
        return None
    if isinstance(data, collections.OrderedDict):
        number = len(next(iter(data.values())))
        columns = [np.arange(number, dtype=np.int64), *data.values()]
    elif hasattr(data, "iloc"):
        columns = [data.index.values, *(data[name].values for name in data.columns)]
    else:
        return None
    return Rows(columns, shuffle=shuffle, seed=seed, epochs=num_epochs)


class Rows:
    """Columns of arrays, with the two methods of a queue that the old functions call.

    Rows that are not shuffled come in the order of the queue. Shuffled ones, whose order no queue
    defines, come in a uniformly random order in each epoch.

    Args:
      columns: arrays with as many rows each.
      shuffle: whether they are shuffled.
      seed: of the shuffle.
      epochs: passes over the rows; None is endless.
    """

    def __init__(
        self, columns: list[np.ndarray], *, shuffle: bool, seed: int | None, epochs: int | None
    ) -> None:
        self._columns = columns
        number = len(columns[0])
        order: Any = tf.compat.v1.data.Dataset.range(number)
        if shuffle:
            order = order.shuffle(number, seed=seed)
        self._order = order.repeat(epochs)

    def dequeue_many(self, n: int, name: str | None = None) -> list[Any]:
        """Returns the tensors of `n` rows, a column each."""
        return self._batches(n, whole=True, name=name)

    def dequeue_up_to(self, n: int, name: str | None = None) -> list[Any]:
        """Returns the tensors of `n` rows, or of those that are left."""
        return self._batches(n, whole=False, name=name)

    def _batches(self, size: int, *, whole: bool, name: str | None) -> list[Any]:
        columns = self._columns
        types = [_dtype(column) for column in columns]

        def take(rows: np.ndarray) -> list[np.ndarray]:
            taken = [column[rows] for column in columns]
            return [
                values.astype(object) if dtype == tf.string else values
                for values, dtype in zip(taken, types, strict=True)
            ]

        @tf.autograph.experimental.do_not_convert
        def batch(rows: Any) -> tuple[Any, ...]:
            tensors = tf.numpy_function(take, [rows], types)
            for tensor, column in zip(tensors, columns, strict=True):
                tensor.set_shape([size if whole else None, *column.shape[1:]])
            return tuple(tensors)

        batches = self._order.batch(size, drop_remainder=whole)
        batches = batches.map(batch, num_parallel_calls=tf.data.AUTOTUNE)
        iterator: Any = tf.compat.v1.data.make_initializable_iterator(batches)
        iterator.starts_itself = True
        iterator.queue = f"the queue of {len(columns[0]):,} rows"
        return list(iterator.get_next(name))


def _dtype(column: np.ndarray) -> tf.DType:
    return tf.as_dtype(column.dtype)
