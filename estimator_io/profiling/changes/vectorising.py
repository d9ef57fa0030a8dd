"""One call a batch instead of one a row, where the function gives the same on a batch."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.changes.making import suggestion
from estimator_io.profiling.changes.trying import tried_seconds
from estimator_io.profiling.context import Measured
from estimator_io.profiling.costs import Cost, costs_from
from estimator_io.profiling.eagerly import bounded
from estimator_io.profiling.report import Suggestion

__all__ = ["vectorise"]

# Above this a call's own cost is no matter.
MOST_SECONDS_A_ROW = 5e-4
ROWS_COMPARED = 16
PATIENCE_SECONDS = 5.0


def vectorise(measured: Measured) -> Iterator[Suggestion]:
    """Yields: a map of rows that gives the same for a batch moves behind the batch."""
    steps = measured.chain.steps
    for at, _ in measured.parts[0].shares:
        step, cost = steps[at], measured.costs[at]
        batch = _batch_behind(steps, at)
        cheap = cost.seconds <= MOST_SECONDS_A_ROW
        if step.kind != "map" or batch is None or not cheap or step.python:
            continue
        if at == 0 or step.random or step.writes or not callable(step.user_function):
            continue
        try:
            found = bounded(
                lambda at=at, batch=batch: _tried(measured, at, batch), PATIENCE_SECONDS, "a batch"
            )
        except Exception:  # it takes rows alone
            continue
        if found is None:
            continue
        chain, costs = found
        fn = measured.input_fn
        options = None
        if fn is not None and step.stage == "parse" and fn.options.batch_map is None:
            options = {"parse": None, "batch_map": step.user_function}
        edit = (
            "batch_map=<the function of parse>, parse=None"
            if fn is not None
            else f"move this map behind {steps[batch].stage}"
        )
        yield suggestion(
            measured,
            "batch before map",
            edit,
            f"{step.stage} is called for each row, and gives the same values called for a batch"
            f" (compared on {ROWS_COMPARED} rows).",
            chain,
            costs,
            step=step,
            options=options,
            seconds=tried_seconds(chain),
        )


def _batch_behind(steps: tuple[Step, ...], at: int) -> int | None:
    """Returns the batch that follows, if nothing in between looks at a row."""
    for later in range(at + 1, len(steps)):
        if steps[later].kind == "batch":
            return later
        if steps[later].kind not in ("shuffle", "prefetch", "free"):
            return None
    return None


def _tried(measured: Measured, at: int, batch: int) -> tuple[Chain, list[Cost]] | None:
    steps = measured.chain.steps
    rows = measured.samples[at - 1].dataset.repeat()
    user: Any = steps[at].user_function

    def apply(before: Any) -> Any:
        return before.map(user, num_parallel_calls=tf.data.AUTOTUNE)

    one = next(iter(apply(rows.batch(ROWS_COMPARED))))
    other = next(iter(rows.map(user).batch(ROWS_COMPARED)))
    if not _same(one, other):
        return None
    moved = dataclasses.replace(
        steps[at], apply=apply, serial=lambda before: before.map(user), with_calls=None, calls=-1
    )
    chain = dataclasses.replace(
        measured.chain,
        steps=(*steps[:at], *steps[at + 1 : batch + 1], moved, *steps[batch + 1 :]),
    )
    costs = list(measured.costs[:at])
    middle = costs_from(chain, at, batch + 1, measured.samples[at - 1], costs[at - 1], 0.6)
    return chain, [*costs, *middle, *measured.costs[batch + 1 :]]


def _same(one: Any, other: Any) -> bool:
    try:
        tf.nest.assert_same_structure(one, other)
    except (TypeError, ValueError):
        return False
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
    return all(_equal(a, b) for a, b in pairs)


def _equal(one: Any, other: Any) -> bool:
    a, b = one.numpy(), other.numpy()
    if a.shape != b.shape or a.dtype != b.dtype:
        return False
    if a.dtype.kind in "fc":  # sums may be formed in another order
        return bool(np.allclose(a, b, rtol=1e-5, atol=1e-6, equal_nan=True))
    return bool(np.array_equal(a, b))
