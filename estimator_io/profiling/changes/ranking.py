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
# A cache holds from the second pass on, and takes memory or disk; a service takes machines. They
# come behind what at least doubles the rate without.
_LATER = ("cache", "service")
PLENTY = 2.0
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
    rest = sorted(found, key=lambda one: one.name in _LATER or one.gain < PLENTY)
    ordered: list[Suggestion] = []
    while rest:
        late = rest[0].name in _LATER or rest[0].gain < PLENTY
        tier = [one for one in rest if late or not (one.name in _LATER or one.gain < PLENTY)]
        best = max(_useful(one, measured.step_seconds) for one in tier)
        # Where they are alike, the order of _KINDS is that of what they cost.
        chosen = next(o for o in tier if _useful(o, measured.step_seconds) * ALIKE >= best)
        ordered.append(chosen)
        rest.remove(chosen)
    return (*ordered, *early)


def _useful(one: Suggestion, step_seconds: float | None) -> float:
    """Returns the batches a second that training would use."""
    most = 1 / step_seconds if step_seconds else one.batches_per_second
    return min(one.batches_per_second, most)


def _nothing(measured: Measured) -> Suggestion:
    return Suggestion(
        name="nothing",
        edit="nothing: the step is the limit",
        place=None,
        options=None,
        batches_per_second=1 / measured.seconds_per_batch,
        gain=1.0,
        gain_between=(1.0, 1.0),
        reason="The pipeline gives batches faster than the step takes them.",
    )
