"""A look for the first row, where only reading can tell whether there is one.

A filter that drops every row would let endless training loop without a step, and let an evaluation
report a loss of nothing. The look runs once for each mode of an InputFn, apart from the program's
own graph and session, up to the first row that is left.
"""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError, NoDataError
from estimator_io.pipeline import stages
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.plan import Plan
from estimator_io.sources.base import Source

__all__ = ["require_rows"]


def require_rows(source: Source, options: Options, request: stages.Request, done: set[str]) -> None:
    """Checks that at least one row reaches the batch stage.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      request: the call that is about to build it.
      done: the modes that were looked at before; this one is added.

    Raises:
      NoDataError: none does.
    """
    if source.num_rows is not None and request.shard[0] >= source.num_rows:
        raise NoDataError(
            f"Worker {request.shard[0]} of {request.shard[1]} has no row: the source holds"
            f" {source.num_rows}. Expected: at least one row for each worker."
        )
    if request.mode in done or (source.holds_rows and not (options.filter or options.flat_map)):
        return
    plain = dataclasses.replace(options, cache=None, epochs=None)
    once = dataclasses.replace(request, mode="eval", passes=None, start=None)
    plan = Plan(tuple(stages.row_calls(source, plain, once)))
    if _holds_a_row(plan) is False:
        raise NoDataError(
            f"No row is left to {request.mode} on. Received: {source.describe()}, none of which"
            f" got through {_dropping(options)}. Expected: at least one."
        )
    done.add(request.mode)


def _dropping(options: Options) -> str:
    names = [name for name in ("parse", "filter", "flat_map") if getattr(options, name)]
    return ", ".join(names) or "the source function"


def _holds_a_row(plan: Plan) -> bool | None:
    """Whether the rows of `plan` begin; None where that shows only in the program's own graph."""
    try:
        return _first_in_session(plan) if not tf.executing_eagerly() else _first_eagerly(plan)
    except EstimatorIOError:
        raise
    except Exception as error:  # whatever it is, the pipeline itself will meet and report it
        logging.getLogger("estimator_io").debug("looking for the first row failed: %s", error)
        return None


def _first_eagerly(plan: Plan) -> bool:
    return any(True for _ in plan.build().take(1))


def _first_in_session(plan: Plan) -> bool:
    v1: Any = tf.compat.v1
    with tf.Graph().as_default():
        rows = plan.build().take(1).reduce(tf.constant(0, tf.int64), lambda count, *_: count + 1)
        initializers = [v1.global_variables_initializer(), v1.tables_initializer()]
        # The look must not claim the memory of an accelerator that training is about to use.
        config = v1.ConfigProto(device_count={"GPU": 0})
        with v1.Session(config=config) as session:
            session.run(initializers)
            return bool(session.run(rows))
