"""A function that builds a tf.data.Dataset: rows that come from elsewhere, as a stream."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from estimator_io.ops.order import repeat_shuffled, shuffled
from estimator_io.ops.passes import endless_passes
from estimator_io.plan.calls import Call, Plan
from estimator_io.sources.base import Order, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls

__all__ = ["FunctionSource"]


class FunctionSource(Source):
    """The elements of the Dataset that `function()` returns, one row each.

    The function is called wherever a pipeline is built, under the Estimator inside its graph, since
    a Dataset made outside that graph cannot be read in it.

    Args:
      function: builds the Dataset.
      batched: whether its elements are batches of rows.
    """

    holds_rows = False

    def __init__(self, function: Callable[[], Any], *, batched: bool = False) -> None:
        self._function = function
        self._batched = batched

    @property
    def num_rows(self) -> None:
        """None: the Dataset is known only where it is built."""

    def is_endless(self) -> bool:
        """Whether the Dataset says that it never ends; what Python makes cannot tell."""
        import tensorflow as tf

        with tf.Graph().as_default():
            dataset = self._function()
            if not isinstance(dataset, tf.data.Dataset):
                return False  # refused when the pipeline is built
            number = dataset.cardinality()
            config = tf.compat.v1.ConfigProto(device_count={"GPU": 0})
            with tf.compat.v1.Session(config=config) as session:
                return int(session.run(number)) == tf.data.INFINITE_CARDINALITY

    def identity(self) -> Any:
        """Returns the function; files that it reads are beyond what can be told."""
        return (self._function, self._batched)

    def describe(self) -> str:
        """Returns the function's name."""
        return f"the Dataset of {getattr(self._function, '__name__', self._function)}()"

    def describe_shuffle(self, buffer_size: int) -> str:
        """Returns the size of the buffer."""
        return f"a buffer of {buffer_size:,} rows"

    def calls(self, order: Order) -> list[Call]:
        """Returns: the Dataset, sharded, shuffled through a buffer and repeated."""
        return self._calls(order, [])

    def located_calls(self, order: Order, note: Any) -> list[Call]:
        """Returns the same rows in the same order, each with its number in the Dataset."""
        del note
        return self._calls(order, [Call("source", "enumerate")])

    def _calls(self, order: Order, numbering: list[Call]) -> list[Call]:
        index, count = order.shard
        calls = [Call("source", self._function)]
        if self._batched:
            calls.append(Call("source", "unbatch"))
        calls += numbering
        if count > 1:
            calls.append(Call("shard", "shard", (count, index)))
        if order.shuffle and order.epochs is None:
            shuffle = functools.partial(shuffled, buffer_size=order.buffer_size, seed=order.seed)
            endless = functools.partial(
                endless_passes,
                one_pass=shuffle,
                first=0 if order.start is None else order.start.first_epoch,
                name=f"{getattr(self._function, '__name__', self._function)}()",
            )
            calls.append(Call("shuffle", "apply", (endless,)))
            return calls
        if order.shuffle:
            repeat = functools.partial(
                repeat_shuffled,
                epochs=Plan((epoch_numbers(order),)),
                buffer_size=order.buffer_size,
                seed=order.seed,
            )
            calls.append(Call("shuffle", "apply", (repeat,)))
            return calls
        return [*calls, *repeat_calls(order)]
