"""Keep what was made: the steps in front of a cache run in the first pass alone."""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.pipeline.memory_limit import spell_bytes
from estimator_io.profiling.changes.making import suggestion
from estimator_io.profiling.changes.trying import tried_seconds
from estimator_io.profiling.context import Measured
from estimator_io.profiling.costs import Cost
from estimator_io.profiling.report import Suggestion

__all__ = ["cache"]

MEMORY_SHARE = 0.5


def cache(measured: Measured) -> Iterator[Suggestion]:
    """Yields: a cache behind the last step that gives the same rows in each pass."""
    at = _last_repeatable(measured)
    if at is None or measured.target_caches or measured.mode != "train":
        return
    steps, cost = measured.chain.steps, measured.costs[at]
    rows = measured.elements_of(at)
    if rows == 1.0:
        return
    size = None if rows is None else rows * cost.bytes
    in_memory = size is None or size <= MEMORY_SHARE * measured.machine.memory_bytes
    sample = measured.samples[at]
    chain = measured.chain.from_memory(at, sample.dataset.repeat())
    kept = Cost(sample.read_seconds, sample.read_seconds, cost.bytes, 0.0, 0.0, sample.count)
    where, options = steps[at], None
    if measured.input_fn is not None:
        options = {"cache": "memory" if in_memory else "<folder>"}
        edit = f"cache={options['cache']!r}"
    else:
        edit = f".cache({'' if in_memory else repr('<file>')}) behind {where.stage}"
        if any(step.kind == "shuffle" for step in steps[: at + 1]):
            edit += ", with the shuffle moved behind the cache"
    total = f"{spell_bytes(cost.bytes)} a row" + (f", {spell_bytes(size)} in all" if size else "")
    yield suggestion(
        measured,
        "cache",
        edit,
        f"From the second pass on, all up to {where.stage} is read from"
        f" {'memory' if in_memory else 'the disk'} instead of made ({total}).",
        chain,
        [kept, *measured.costs[at + 1 :]],
        step=where,
        options=options,
        memory_bytes=size if in_memory else 0.0,
        disk_bytes=0.0 if in_memory else size,
        tried=in_memory,
        seconds=tried_seconds(chain),
    )


def _last_repeatable(measured: Measured) -> int | None:
    """Returns the last step of rows that costs something and gives the same in each pass."""
    steps = measured.chain.steps
    best = None
    for at, step in enumerate(steps):
        if measured.input_fn is not None and step.stage not in _STORED:
            break
        # An InputFn keeps rows by their number, so the order in which they come is no matter.
        orders = measured.input_fn is not None and step.stage in _ORDERING
        if (step.random and not orders) or (step.kind == "batch" and measured.input_fn is None):
            break
        if step.kind in ("map", "flat_map", "interleave", "filter", "source"):
            best = at
    return best


# The stages of an InputFn that say which rows come next, and all up to its cache.
_ORDERING = ("source", "epochs", "shuffle", "shard", "rows")
_STORED = (*_ORDERING, "read", "parse")
