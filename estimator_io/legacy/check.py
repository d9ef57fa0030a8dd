"""A look at one batch of an accelerated input function, as `InputFn.check` makes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError
from estimator_io.pipeline.check import Problem, Report, of_labels, of_rows, of_values

__all__ = ["look"]


def look(call: Callable[[str], Any], modes: Sequence[str]) -> Report:
    """Returns what one batch in each mode shows.

    Args:
      call: builds the pipeline of a mode, without caches and services.
      modes: to look at.
    """
    began = time.monotonic()
    problems: dict[tuple[str, str], Problem] = {}
    for mode in modes:
        for problem in _of_mode(call, mode):
            problems.setdefault((problem.kind, problem.text), problem)
    return Report(tuple(problems.values()), tuple(modes), time.monotonic() - began)


def _of_mode(call: Callable[[str], Any], mode: str) -> Iterator[Problem]:
    try:
        with tf.Graph().as_default():
            tf.compat.v1.train.create_global_step()
            yield from _of_result(call(mode), mode)
    except Exception as error:
        kind = "structure" if type(error).__name__ == "StructureError" else "error"
        own = isinstance(error, EstimatorIOError)
        text = str(error) if own else f"{type(error).__name__}: {error}"
        yield Problem(kind, True, mode, text)


def _of_result(result: Any, mode: str) -> Iterator[Problem]:
    v1: Any = tf.compat.v1
    endless: Any = None
    if isinstance(result, (tf.data.Dataset, v1.data.Dataset)):
        endless = tf.equal(tf.data.experimental.cardinality(result), tf.data.INFINITE_CARDINALITY)
        iterator = v1.data.make_initializable_iterator(result)
        v1.add_to_collection("table_initializer", iterator.initializer)
        result = iterator.get_next()
    yield from of_labels(result, mode)
    # A look must not claim the memory of an accelerator that training is about to use.
    creator = v1.train.ChiefSessionCreator(config=v1.ConfigProto(device_count={"GPU": 0}))
    with v1.train.MonitoredSession(creator) as session:
        if endless is not None and mode != "train" and session.run(endless):
            yield Problem(
                "endless",
                False,
                mode,
                f"the input_fn never ends, so {mode} without a number of steps would run forever."
                " Leave repeat() out where mode is not 'train', or give steps.",
            )
        try:
            batch = session.run(result)
        except tf.errors.OutOfRangeError:
            text = "the input_fn gives not a single batch. Does a pattern match no file, or a"
            yield Problem("empty", True, mode, f"{text} filter drop every row?")
            return
    yield from of_values(batch, mode)
    yield from of_rows(batch, mode)
