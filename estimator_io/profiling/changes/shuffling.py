"""Shuffle buffers that are waited for, or hold what could be shuffled before it was made."""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.pipeline.memory_limit import spell_bytes
from estimator_io.profiling.changes.making import suggestion
from estimator_io.profiling.context import Measured
from estimator_io.profiling.report import Suggestion
from estimator_io.profiling.spelling import seconds as spell_seconds

__all__ = ["shuffle_earlier"]

LEAST_SECONDS = 1.0
LEAST_MEMORY_SHARE = 0.05


def shuffle_earlier(measured: Measured) -> Iterator[Suggestion]:
    """Yields: a shuffle of what is costly to make, or large, moves in front of the work."""
    for at, seconds, held in measured.buffers:
        step = measured.chain.steps[at]
        large = held > LEAST_MEMORY_SHARE * max(1, measured.machine.memory_bytes)
        if seconds < LEAST_SECONDS and not large:
            continue
        before = [s.stage for s in measured.chain.steps[:at] if s.kind == "map"]
        if before:
            edit = f"move this shuffle in front of {before[0]}"
        else:
            edit = f"shuffle({max(1, (step.size or 2) // 4)})"
        yield suggestion(
            measured,
            "shuffle earlier" if before else "smaller shuffle",
            edit,
            f"The buffer of {step.size:,} elements holds {spell_bytes(held)} and takes"
            f" {spell_seconds(seconds)} to fill before the first batch. The rate stays the same.",
            measured.chain,
            measured.costs,
            step=step,
            memory_bytes=-held,
            tried=False,
            seconds=measured.seconds_per_batch,
        )
