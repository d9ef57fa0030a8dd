"""Runs an input function in a scratch graph, and tells what came out."""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.legacy.interception import intercepted
from estimator_io.legacy.internals import global_seed
from estimator_io.legacy.scratch import Scratch, seeds_as_in

__all__ = ["NotTraced", "Trace", "trace"]

# What is carried over, or of no use once the graph is built.
_OWN_COLLECTIONS = frozenset(
    {"table_initializer", "iterators", "asset_filepaths", "cond_context", "while_context"}
)
# What TensorFlow says where a graph is given what was made outside of it.
_FROM_OUTSIDE = ("EagerTensor", "must be from the same graph", "is different from the graph")


class NotTraced(Exception):  # noqa: N818 - it says why a function is left as it is
    """An input function does something whose effect would be lost in a scratch graph."""


@dataclasses.dataclass
class Trace:
    """What an input function built.

    Attributes:
      graph: where.
      result: what it returned.
      seeds: the seeds that it took; `keep` once the result is used.
    """

    graph: Scratch
    result: Any
    seeds: seeds_as_in

    def table_initializers(self) -> list[Any]:
        """Returns the operations that fill tables."""
        starts = {iterator._initializer for iterator in self.graph.iterators}
        return [op for op in self.graph.get_collection("table_initializer") if op not in starts]


def trace(call: Callable[[], Any]) -> Trace:
    """Runs `call` in a scratch graph that looks like the current one.

    The random states of Python and NumPy are as before where it does not succeed, since the
    function is then run again.

    Args:
      call: calls the input function.

    Raises:
      NotTraced: it adds to collections whose content would be lost.
      Exceptions as those of the function.
    """
    states = random.getstate(), np.random.get_state()
    try:
        try:
            return _traced(call, captures=False)
        except Exception as error:
            if not _used_from_outside(error):
                raise
            restore(states)
            return _traced(call, captures=True)
    except BaseException:
        restore(states)
        raise


def restore(states: Any) -> None:
    """Sets the random states of Python and NumPy."""
    random.setstate(states[0])
    np.random.set_state(states[1])


def _used_from_outside(error: BaseException) -> bool:
    """Whether a tensor or a Dataset that was made outside of the function was the trouble."""
    while error is not None:
        if any(words in str(error) for words in _FROM_OUTSIDE):
            return True
        error = error.__cause__  # type: ignore[assignment]
    return False


def _traced(call: Callable[[], Any], *, captures: bool) -> Trace:
    outer = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph()
    scratch = Scratch()
    seeds = seeds_as_in(outer, scratch)
    if outer is None:
        scratch.seed = global_seed()
    with scratch.as_default(), intercepted():
        if outer is not None and tf.compat.v1.train.get_global_step(outer) is not None:
            tf.compat.v1.train.create_global_step(scratch)
        if captures:
            scratch.open_to(outer)
        before = {name: len(scratch.get_collection(name)) for name in scratch.collections}
        result = call()
    _require_nothing_lost(scratch, before)
    return Trace(scratch, result, seeds)


def _require_nothing_lost(scratch: Scratch, before: dict[str, int]) -> None:
    for name in scratch.collections:
        added = len(scratch.get_collection(name)) > before.get(name, 0)
        if added and isinstance(name, str) and not name.startswith("__"):
            if name in _OWN_COLLECTIONS:
                continue
            raise NotTraced(
                f"it adds to the graph's collection {name!r} (variables, summaries, queue runners"
                " or the like), which must stand in the graph that is trained in"
            )
