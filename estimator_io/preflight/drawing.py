"""Draws a few batches as the Estimator would, in a thread that may be given up."""

from __future__ import annotations

import dataclasses
import importlib
import threading
import time
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError
from estimator_io.preflight.limits import Limits
from estimator_io.runner.input_calls import InputCall
from estimator_io.runner.places import standing_place

__all__ = ["INFINITE", "Drawn", "draw"]

INFINITE = -1  # tf.data.INFINITE_CARDINALITY


@dataclasses.dataclass
class Drawn:
    """What came of drawing.

    Attributes:
      began: when the input_fn was called, in seconds since the epoch.
      is_dataset: whether the input_fn returned a Dataset, rather than tensors; None: it did not
        return.
      parts: its features and labels as they stand in the graph, the labels where there are some.
      cardinality: batches that tf.data knows of, INFINITE, or None.
      graph: the GraphDef of the input_fn; None where it could not be made.
      batches: that came: (features,) or (features, labels) as NumPy values.
      first_seconds: from the call of the input_fn to the first batch; None without one.
      later_seconds: from the first batch to the last.
      ended: whether there are no more.
      error: what stopped it.
      stands_at: the file and line where it stood when it was given up; None where it was not.
    """

    began: float
    is_dataset: bool | None = None
    parts: tuple[Any, ...] = ()
    cardinality: int | None = None
    graph: Any = None
    batches: list[tuple[Any, ...]] = dataclasses.field(default_factory=list)
    first_seconds: float | None = None
    later_seconds: float = 0.0
    ended: bool = False
    error: BaseException | None = None
    stands_at: str | None = None


def draw(call: InputCall, limits: Limits) -> Drawn:
    """Draws batches from an input_fn, until it ends or a limit is reached.

    They are kept, so that nothing but drawing takes time between them. Where the input_fn hangs,
    the thread that draws is left behind: nothing can end it but the process.

    Args:
      call: the input_fn, and what it is given.
      limits: how many batches, and how long.

    Returns:
      What came. An error of the input_fn is part of it.
    """
    drawn = Drawn(time.time())
    given_up = threading.Event()
    thread = threading.Thread(
        target=_draw, args=(call, limits, drawn, given_up), name="draw", daemon=True
    )
    thread.start()
    thread.join(limits.seconds)
    given_up.set()
    # A batch that is on its way may still come.
    thread.join(min(5.0, limits.seconds))
    if not thread.is_alive():
        return drawn
    stands_at = standing_place(thread.ident)
    # What the thread goes on to write is not read any more.
    return dataclasses.replace(drawn, batches=[*drawn.batches], stands_at=stands_at)


def _draw(call: InputCall, limits: Limits, drawn: Drawn, given_up: threading.Event) -> None:
    began = time.monotonic()
    v1: Any = tf.compat.v1
    try:
        with tf.Graph().as_default() as graph:
            seed = getattr(call.config, "tf_random_seed", None)
            if seed is not None:
                v1.set_random_seed(seed)
            v1.train.create_global_step(graph)
            hooks = _build(call, drawn)
            drawn.graph = graph.as_graph_def()
            for batch in _batches(drawn.parts, hooks):
                if given_up.is_set():
                    return
                since = time.monotonic() - began
                if drawn.first_seconds is None:
                    drawn.first_seconds = since
                drawn.later_seconds = since - drawn.first_seconds
                drawn.batches.append(batch)
                if len(drawn.batches) >= limits.batches or since > limits.seconds:
                    return
            drawn.ended = True
    except BaseException as error:
        drawn.error = error


def _build(call: InputCall, drawn: Drawn) -> list[Any]:
    util: Any = importlib.import_module("tensorflow_estimator.python.estimator.util")
    result = call()
    drawn.is_dataset = isinstance(result, tf.compat.v2.data.Dataset)
    if drawn.is_dataset:
        drawn.cardinality = _cardinality(result)
    elif result is None or not tf.nest.flatten(result):
        raise StructureError(
            f"The input_fn returned {result!r}. Expected: a tf.data.Dataset, or features, or"
            " (features, labels) of tensors. Is a return missing?"
        )
    features, labels, hooks = util.parse_input_fn_result(result)
    drawn.parts = (features,) if labels is None or call.mode == "infer" else (features, labels)
    for leaf in tf.nest.flatten(drawn.parts):
        if not tf.is_tensor(leaf):
            raise StructureError(
                f"The input_fn returned {type(leaf).__name__} among its features and labels."
                " Expected: a tf.data.Dataset, or features, or (features, labels) of tensors."
                " Arrays are given with tf.data.Dataset.from_tensor_slices, or with"
                " estimator_io.numpy_input_fn, which keeps them out of the graph."
            )
    return hooks


def _cardinality(dataset: Any) -> int | None:
    """Returns the batches that tf.data knows of, of a Dataset in the graph that is the default."""
    with tf.compat.v1.Session() as session:
        try:
            found = int(session.run(tf.data.experimental.cardinality(dataset)))
        except tf.errors.OpError:  # it depends on a table, or on a variable
            return None
    return found if found >= INFINITE else None


def _batches(parts: tuple[Any, ...], hooks: list[Any]) -> Iterator[tuple[Any, ...]]:
    """Yields batches of a session that sets up tables, queues and iterators as the Estimator's."""
    v1: Any = tf.compat.v1
    # A look must not claim the memory of an accelerator that training is about to use.
    creator = v1.train.ChiefSessionCreator(config=v1.ConfigProto(device_count={"GPU": 0}))
    with v1.train.MonitoredSession(session_creator=creator, hooks=hooks) as session:
        while True:
            try:
                batch = session.run(parts)
            except tf.errors.OutOfRangeError:
                return
            yield batch
