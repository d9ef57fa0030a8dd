"""All suggestions in their order: by what training gains, then by what they cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from estimator_io.profiling.changes.caching import cache
from estimator_io.profiling.changes.elsewhere import processes, service
from estimator_io.profiling.changes.parallel import more_calls, more_files, more_threads
from estimator_io.profiling.changes.shuffling import shuffle_earlier
from estimator_io.profiling.changes.vectorising import vectorise
from estimator_io.profiling.context import Measured
from estimator_io.profiling.report import Suggestion, Verdict

__all__ = ["ranked"]

LEAST_GAIN = 1.1
# Gains this much apart are alike, given what a prediction is worth.
ALIKE = 1.25
# A cache holds from the second pass on, and takes memory or disk; a service takes machines.
_DEARER = {"cache": 4.0, "service": 4.0, "split the file": 2.0}
_KINDS: tuple[Callable[[Measured], Iterator[Suggestion]], ...] = (
    more_calls,
    more_threads,
    more_files,
    vectorise,
    processes,
    cache,
    service,
)


def ranked(measured: Measured, verdict: Verdict) -> tuple[Suggestion, ...]:
    """Returns what to change, the best first; nothing but the start where the step is the limit."""
    early = tuple(shuffle_earlier(measured))
    if verdict.kind == "step-bound":
        return (_nothing(measured), *early)
    found = [one for kind in _KINDS for one in kind(measured) if one.gain >= LEAST_GAIN]
    step = measured.step_seconds

    def useful(one: Suggestion) -> float:
        """Returns the batches a second that training would use, less where they cost more."""
        used = min(one.batches_per_second, 1 / step) if step else one.batches_per_second
        return used / _DEARER.get(one.name, 1.0)

    # Where they are alike, the order of _KINDS is that of what they cost.
    ordered: list[Suggestion] = []
    rest = list(found)
    while rest:
        best = max(useful(one) for one in rest)
        chosen = next(one for one in rest if useful(one) * ALIKE >= best)
        ordered.append(chosen)
        rest.remove(chosen)
    return (*ordered, *early)


def _nothing(measured: Measured) -> Suggestion:
    return Suggestion(
        name="nothing",
        edit="nothing: the step is the limit",
        place=None,
        options=None,
        batches_per_second=1 / measured.seconds_per_batch,
        gain=1.0,
        reason="The pipeline gives batches faster than the step takes them.",
    )
