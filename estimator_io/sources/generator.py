"""Rows that Python makes: a stream from a generator, or batches by index from a sequence."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from estimator_io.errors import NoDataError, SourceError
from estimator_io.ops.generator import generated_rows, sequence_batch
from estimator_io.ops.order import epoch_order
from estimator_io.plan.calls import Call
from estimator_io.sources.base import Order, Source
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.function import FunctionSource
from estimator_io.sources.signature import Signature

__all__ = ["GeneratorSource", "SequenceSource", "is_sequence"]


class GeneratorSource(FunctionSource):
    """The rows of an iterable, which is asked for anew in each pass.

    Args:
      elements: a function that returns an iterable of rows, or an iterable that can be read again.
      signature: of a row; None takes that of the first one.

    Raises:
      SourceError: the rows could be read only once.
      NoDataError: there is none.
    """

    def __init__(self, elements: Any, signature: Signature | None) -> None:
        make: Any = elements if callable(elements) else functools.partial(iter, elements)
        super().__init__(make)
        self._elements = elements
        _require_new_pass(elements, make if signature is None else None)
        self.holds_rows = signature is None
        self._signature = signature or Signature.of_element(_first(make(), elements))

    def describe(self) -> str:
        """Returns what makes the rows."""
        return f"rows that Python makes, {_name(self._elements)}"

    def is_endless(self) -> bool:
        """False: whether Python's rows end, only reading them tells."""
        return False

    def identity(self) -> Any:
        """Returns the function or iterable; what it reads is beyond what can be told."""
        return (self._elements, self._signature.arguments())

    def _calls(self, order: Order, numbering: list[Call]) -> list[Call]:
        """Returns: the rows, sharded, shuffled through a buffer and repeated."""
        kwargs = {"elements": self._function, **self._signature.arguments()}
        if order.epochs is None:
            kwargs["endless"] = _name(self._elements)
        return [Call("source", generated_rows, (), kwargs), *super()._calls(order, numbering)[1:]]


class SequenceSource(Source):
    """The rows of a keras Sequence or PyDataset, shuffled by index of the batch.

    Args:
      sequence: what has batches by index.

    Raises:
      NoDataError: it has none.
      SourceError: the first batch is none of arrays.
    """

    def __init__(self, sequence: Any) -> None:
        self._sequence = sequence
        self._size = len(sequence)
        if not self._size:
            raise NoDataError(f"{_name(sequence)} has no batch. Expected: at least one.")
        self._signature = Signature.of_element(sequence[0], batched=True)

    @property
    def num_rows(self) -> None:
        """None: batches may differ in size."""

    def identity(self) -> Any:
        """Returns the object, whose rows cannot be told without reading them."""
        return self._sequence

    def describe(self) -> str:
        """Returns the number of batches."""
        return f"rows of {self._size:,} batches of {_name(self._sequence)}"

    def rows_held(self, buffer_size: int) -> int:
        """0: batches are shuffled by index."""
        del buffer_size
        return 0

    def describe_shuffle(self, buffer_size: int) -> str:
        """Returns what is shuffled."""
        return f"all {self._size:,} batches by index, no buffer"

    def calls(self, order: Order) -> list[Call]:
        """Returns: indices of batches in order, the batches, their rows."""
        index, count = order.shard
        if order.shuffle:
            size = -(-(self._size - index) // count)
            where = {"size": size, "seed": order.seed, "first": index, "step": count}
            calls = [
                epoch_numbers(order),
                Call("shuffle", "flat_map", (functools.partial(epoch_order, **where),)),
            ]
        else:
            batches = Call("source", "range", (index, self._size, count))
            calls = [batches, *repeat_calls(order)]
        take = functools.partial(
            sequence_batch, sequence=self._sequence, **self._signature.arguments()
        )
        # One call at a time: a sequence need not bear several threads.
        return [*calls, Call("read", "map", (take,)), Call("read", "unbatch")]


def is_sequence(value: Any) -> bool:
    """Whether `value` is a keras.utils.Sequence or PyDataset, of whichever Keras."""
    return any(
        kind.__name__ in ("Sequence", "PyDataset")
        and kind.__module__.split(".")[0] in ("keras", "tf_keras", "tensorflow")
        for kind in type(value).__mro__
    )


def _require_new_pass(elements: Any, make: Callable[[], Iterable[Any]] | None) -> None:
    """Refuses rows that can be read only once; `make`, if given, is called to find out."""
    hint = (
        " It is spent after one pass, so later epochs and evaluations would be empty. Expected: the"
        " function that makes it, called anew for each pass."
    )
    if isinstance(elements, Iterator):
        name = getattr(elements, "__name__", "")
        example = f" Pass {name}, not {name}()." if name else " Pass lambda: iter(…) over the rows."
        raise SourceError(
            f"The rows come from an iterator, {type(elements).__name__}.{hint}{example}"
        )
    if not callable(elements):
        if iter(elements) is iter(elements):
            raise SourceError(
                f"iter() of {_name(elements)} returns the same iterator at each call.{hint}"
            )
        return
    if make is None:
        return
    first = make()
    if not hasattr(first, "__iter__"):
        raise SourceError(
            f"{_name(elements)} returned no iterable. Received: {type(first).__name__}. Expected: a"
            " generator function, or a function that returns an iterable of rows."
        )
    if isinstance(first, Iterator) and make() is first:
        raise SourceError(f"{_name(elements)} returns the same iterator at each call.{hint}")


def _first(elements: Iterable[Any], given: Any) -> Any:
    for element in elements:
        return element
    raise NoDataError(f"{_name(given)} yields no row. Expected: at least one.")


def _name(value: Any) -> str:
    if callable(value) and hasattr(value, "__name__"):
        return f"{value.__name__}()"
    return f"a {type(value).__name__}"
