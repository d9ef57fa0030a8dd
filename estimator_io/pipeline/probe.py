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
from estimator_io.pipeline.mixture import MixtureSource
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import Request, order_of_rows
from estimator_io.plan.calls import Plan
from estimator_io.sources.base import Order, Source

__all__ = ["require_rows"]


def require_rows(source: Source, options: Options, request: Request, done: set[str]) -> None:
    """Checks that at least one row reaches the batch stage, and where needed a whole batch.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      request: the call that is about to build it.
      done: the modes that were looked at before; this one is added.

    Raises:
      NoDataError: none does, or none of a source in an endless mixture.
    """
    if source.num_rows is not None and request.shard[0] >= source.num_rows:
        raise NoDataError(
            f"Worker {request.shard[0]} of {request.shard[1]} has no row: the source holds"
            f" {source.num_rows}. Expected: at least one row for each worker."
        )
    endless = request.ordered and options.epochs is None
    # Of a source in a mixture, only some workers may have a row.
    shared_mixture = endless and request.shard[1] > 1 and isinstance(source, MixtureSource)
    held = source.holds_rows and not options.changes_count
    if request.mode in done or (held and not shared_mixture):
        return
    needed = _needed(options, request)
    plain = dataclasses.replace(options, cache=None, epochs=1, service=None)
    once = dataclasses.replace(request, mode="eval", mode_blind=False, passes=None, start=None)
    count = _count_rows(Plan(tuple(stages.row_calls(source, plain, once))), needed)
    if count == 0:
        raise NoDataError(
            f"No row is left to {request.mode} on. Received: {source.describe()}, none of which"
            f" got through {_dropping(options)}.{_skipped(source, options)} Expected: at least one."
        )
    if count is not None and count < needed:
        raise NoDataError(
            f"{count} rows are left to {request.mode} on: {options.epochs} epochs do not fill one"
            f" batch of {request.batch_size}, and drop_remainder=True drops it. Expected: at"
            " least one batch. Give a smaller batch_size, or drop_remainder=False."
        )
    if endless and isinstance(source, MixtureSource):
        _require_parts(source, order_of_rows(source, plain, once), "source ")
    done.add(request.mode)


def _require_parts(source: MixtureSource, order: Order, name: str) -> None:
    """Refuses a part of an endless mixture that would be read again and again for nothing."""
    for at, (part, options) in enumerate(source.parts):
        if isinstance(part, MixtureSource):
            _require_parts(part, order, f"{name}{at}.")
            if not options.changes_count:
                continue  # each of its sources has a row
        if part.holds_rows and not options.changes_count and order.shard[1] == 1:
            continue
        if _count_rows(source.part_plan(at, order), 1) == 0:
            raise NoDataError(
                f"No row is left of {name}{at} of the mixture. Received: {part.describe()}, none of"
                f" which got through {_dropping(options)}.{_skipped(part, options)} Expected: at"
                " least one, since endless training draws from each source for ever. Leave the"
                " source out, or give epochs= a number."
            )


def _needed(options: Options, request: Request) -> int:
    """Returns the rows without which not a single batch would come."""
    finite = request.ordered and options.drop_remainder and options.epochs is not None
    if not finite or request.batch_size is None or options.epochs is None:
        return 1
    return -(-request.batch_size // options.epochs)


def _dropping(options: Options) -> str:
    names = [name for name in ("parse", "filter", "flat_map") if getattr(options, name)]
    if not names and options.skips:
        return "reading"
    return ", ".join(names) or "the source function"


def _skipped(source: Source, options: Options) -> str:
    if not options.skips:
        return ""
    path = source.skipped.list_path(options.skipped_log)
    count = source.skipped.count(path)
    return f" {count:,} rows cannot be read and were skipped{f' ({path})' if path else ''}."


def _count_rows(plan: Plan, most: int) -> int | None:
    """Returns the rows of `plan`, at most `most`; None where only the program's graph can tell."""
    try:
        if tf.executing_eagerly():
            return sum(1 for _ in plan.build().take(most))
        return _count_in_session(plan, most)
    except EstimatorIOError:
        raise
    except Exception as error:  # whatever it is, the pipeline itself will meet and report it
        logging.getLogger("estimator_io").debug("looking for the first row failed: %s", error)
        return None


def _count_in_session(plan: Plan, most: int) -> int:
    v1: Any = tf.compat.v1
    with tf.Graph().as_default():
        rows = plan.build().take(most).reduce(tf.constant(0, tf.int64), lambda n, *_: n + 1)
        initializers = [v1.global_variables_initializer(), v1.tables_initializer()]
        # The look must not claim the memory of an accelerator that training is about to use.
        config = v1.ConfigProto(device_count={"GPU": 0})
        with v1.Session(config=config) as session:
            session.run(initializers)
            return int(session.run(rows))
