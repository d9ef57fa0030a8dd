"""A pipeline as data: the calls on tf.data.Dataset that build it, in order.

One plan serves three readers, which therefore cannot disagree: `build` makes the Dataset, the
printer in `source_code` writes the same calls as a program, and the repr names the stages.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Iterator, Mapping
from typing import Any

__all__ = ["Call", "Deferred", "Late", "Named", "Plan", "is_namedtuple", "resolve"]


@dataclasses.dataclass(frozen=True, eq=False)
class Named:
    """A value that the printed program refers to by a name.

    Attributes:
      name: the variable's name.
      value: what the name stands for.
      recipe: a `functools.partial` that computes the value, printed as an assignment; None makes
        the name an argument of the printed function.
    """

    name: str
    value: Any
    recipe: functools.partial | None = None


@dataclasses.dataclass(frozen=True, eq=False)
class Deferred:
    """An argument that is made anew whenever a plan is built, and not before.

    Attributes:
      make: makes the argument; it may touch the disk.
      printed: what the printed program has in its place.
      unread: what takes its place in a Dataset that nobody reads.
    """

    make: Callable[[], Any]
    printed: Any
    unread: Any


@dataclasses.dataclass(frozen=True, eq=False)
class Late:
    """A value that is computed where it is needed, and not before: built, printed or passed on.

    Attributes:
      make: computes it.
    """

    make: Callable[[], Any]


@dataclasses.dataclass(frozen=True)
class Call:
    """One call: a method of the Dataset so far, or the function that makes the first one.

    Attributes:
      stage: the stage of the pipeline that the call belongs to.
      method: the name of a Dataset method, or for the first call of a plan a static one, or a
        plain function that returns a Dataset.
      args: positional arguments; a `Named` or `Deferred` inside is replaced by its value.
      kwargs: keyword arguments, likewise.
    """

    stage: str
    method: str | Callable[..., Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)


@dataclasses.dataclass(frozen=True)
class Plan:
    """The calls that build a pipeline, the first of which makes the first Dataset."""

    calls: tuple[Call, ...]

    def build(self) -> Any:
        """Returns the tf.data.Dataset that the calls make, in the current graph or eagerly."""
        *_, (_, dataset) = self.steps()
        return dataset

    def unread(self) -> Plan:
        """Returns the plan of a Dataset of the same structure, whose building leaves no trace.

        Only arguments of a call itself are looked at, where stages put what is deferred.
        """
        return Plan(tuple(_unread(call) for call in self.calls))

    def steps(self) -> Iterator[tuple[Call, Any]]:
        """Yields each call with the Dataset that it made."""
        import tensorflow as tf

        dataset: Any = tf.data.Dataset
        for call in self.calls:
            method = getattr(dataset, call.method) if isinstance(call.method, str) else call.method
            dataset = method(*resolve(call.args), **resolve(call.kwargs))
            yield call, dataset


def _unread(call: Call) -> Call:
    args = tuple(arg.unread if isinstance(arg, Deferred) else arg for arg in call.args)
    return dataclasses.replace(call, args=args)


def is_namedtuple(value: Any) -> bool:
    """Whether `value` is a named tuple of the user's; TensorFlow's, such as specs, are leaves."""
    own = type(value).__module__.startswith("tensorflow")
    return isinstance(value, tuple) and hasattr(value, "_fields") and not own


def resolve(value: Any) -> Any:
    """Returns `value` with every `Named` and `Deferred` in it replaced by what it stands for."""
    if isinstance(value, Deferred):
        return value.make()
    if isinstance(value, Late):
        return resolve(value.make())
    if isinstance(value, Named):
        return resolve(value.value)
    if isinstance(value, Plan):
        return value.build()
    if isinstance(value, functools.partial):
        return functools.partial(value.func, *resolve(value.args), **resolve(value.keywords))
    if isinstance(value, Mapping):
        return {key: resolve(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(resolve(item) for item in value)
    if is_namedtuple(value):
        kind: Any = type(value)
        return kind._make(resolve(item) for item in value)
    return value
