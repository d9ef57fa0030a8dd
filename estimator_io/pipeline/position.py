"""How the stages start where training goes on: rows are passed over as early as is exact."""

from __future__ import annotations

import dataclasses
import functools

from estimator_io.ops.end import with_end
from estimator_io.pipeline.cache import cached_in_order
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.start import Start
from estimator_io.sources.base import Source

__all__ = ["after_batch", "numbers_from", "skip_rows", "skips_at", "start_of_source"]


def skips_at(source: Source, options: Options) -> str:
    """Returns where rows are passed over.

    "source": on indices, so that nothing is read; "read": what was read is not parsed; "rows":
    behind the cache, or behind the stages that decide how many rows there are.
    """
    if cached_in_order(source, options) or options.changes_count:
        return "rows"
    return "source" if source.starts_anywhere else "read"


def start_of_source(source: Source, options: Options, start: Start | None) -> Start | None:
    """Returns `start` as the source is to take it."""
    if start is None or skips_at(source, options) == "source":
        return start
    return dataclasses.replace(start, skip_rows=None)


def skip_rows(at: str, source: Source, options: Options, start: Start | None) -> list[Call]:
    """Returns the call that passes over rows, where `at` is the place to do so."""
    if start is None or skips_at(source, options) != at:
        return []
    return [Call("position", "skip", (start.skip_rows,))]


def after_batch(options: Options, start: Start | None) -> list[Call]:
    """Returns the calls that notice the end, and pass over batches where rows cannot be counted."""
    if start is None:
        return []
    calls = []
    if options.bucket_boundaries is not None:
        calls.append(Call("position", "skip", (start.skip_batches,)))
    if start.at_end is not None:
        noting = functools.partial(with_end, note=start.at_end, run=start.run)
        calls.append(Call("position", "apply", (noting,)))
    return calls


def numbers_from(stage: str, start: Start) -> Named:
    """Returns the number of the first row or batch that `stage` sees, for its seeds."""
    return start.row_number if stage == "augment" else start.batch_number
