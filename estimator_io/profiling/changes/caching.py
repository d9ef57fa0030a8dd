"""Keep what was made: the steps in front of a cache run in the first pass alone."""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.profiling.changes.making import suggestion
from estimator_io.profiling.changes.trying import tried_seconds
from estimator_io.profiling.context import Measured
from estimator_io.profiling.costs import Cost
from estimator_io.profiling.report import Suggestion
from estimator_io.profiling.sizes import extent_of, file_bytes_of

__all__ = ["cache"]

MEMORY_SHARE = 0.5


def cache(measured: Measured) -> Iterator[Suggestion]:
    """Yields: a cache behind the last step that gives the same rows in each pass."""
    at = _last_repeatable(measured)
    if at is None or measured.target_caches or measured.mode != "train":
        return
    steps, cost = measured.chain.steps, measured.costs[at]
    if measured.elements_of(at) == 1.0:
        return
    extent = extent_of(measured, at)
    # Where the rows are not known, what the files take is the best guess of what they come to.
    likely = file_bytes_of(measured, at) if extent.bytes is None else extent.bytes
    in_memory = (likely or 0.0) <= MEMORY_SHARE * measured.machine.memory_bytes
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
        if where.repeated:
            edit += ", with the repeat moved behind the cache"
    yield suggestion(
        measured,
        "cache",
        edit,
        f"From the second pass on, all up to {where.stage} is read from"
        f" {'memory' if in_memory else 'the disk'} instead of made ({extent.told}).",
        chain,
        [kept, *measured.costs[at + 1 :]],
        step=where,
        options=options,
        memory_bytes=extent.bytes if in_memory else 0.0,
        disk_bytes=0.0 if in_memory else extent.bytes,
        at_least=extent.least,
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
        if step.writes or (step.random and not orders):
            break
        if step.kind == "batch" and measured.input_fn is None:
            break
        if step.kind in ("map", "flat_map", "interleave", "filter", "source"):
            best = at
    return best


# The stages of an InputFn that say which rows come next, and all up to its cache.
_ORDERING = ("source", "epochs", "shuffle", "shard", "rows")
_STORED = (*_ORDERING, "read", "parse")
