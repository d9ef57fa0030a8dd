"""How a change becomes a suggestion: its prediction and its spelling."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.context import LEAST_DOUBT, Measured
from estimator_io.profiling.costs import Cost
from estimator_io.profiling.report import Suggestion

__all__ = ["enough", "spell_options", "suggestion"]

MOST_CALLS = 64
AHEAD = 0.8


def suggestion(
    measured: Measured,
    name: str,
    edit: str,
    reason: str,
    chain: Chain,
    costs: Sequence[Cost],
    *,
    step: Step | None = None,
    options: Mapping[str, Any] | None = None,
    memory_bytes: float | None = 0.0,
    disk_bytes: float | None = 0.0,
    at_least: bool = False,
    tried: bool = True,
    seconds: float | None = None,
) -> Suggestion:
    """Returns a suggestion with the rate that the model predicts.

    Args:
      measured: the pipeline of today.
      name: a word for its kind.
      edit: what to write.
      reason: why.
      chain: the changed pipeline.
      costs: of its steps.
      step: the one whose code is to be edited.
      options: the same for `InputFn.replace`.
      memory_bytes: that it costs.
      disk_bytes: likewise.
      at_least: whether these are lower bounds.
      tried: whether `chain` can be run in this process to see.
      seconds: of a batch, where something else than the model of `chain` predicts them.
    """
    doubt = measured.doubt if seconds is None else LEAST_DOUBT
    predicted = measured.predicted(chain, costs) if seconds is None else seconds
    predicted = max(predicted, 1e-9)
    return Suggestion(
        name=name,
        edit=edit,
        place=step.place if step else None,
        options=options,
        batches_per_second=1 / predicted,
        gain=measured.seconds_per_batch / predicted,
        gain_between=(
            measured.seconds_per_batch / predicted / doubt,
            measured.seconds_per_batch / predicted * doubt,
        ),
        reason=reason,
        memory_bytes=memory_bytes,
        disk_bytes=disk_bytes,
        at_least=at_least,
        trial=chain if tried else None,
    )


def enough(measured: Measured, chain: Chain, at: int) -> int:
    """Returns the calls at once with which step `at` would no longer be what a batch waits for.

    Two stages that are equally fast wait for each other now and then, so it is a fifth faster than
    the others.
    """
    seconds = measured.numbers[at] * measured.costs[at].seconds
    free = chain.with_step(at, chain.steps[at].at_once(1 << 20)).with_threads(1 << 20)
    others = measured.modelled(free, measured.costs)
    rest = max(AHEAD * others, 0.9 * (measured.step_seconds or 0.0))
    return max(2, min(MOST_CALLS, math.ceil(seconds / rest)))


def spell_options(options: Mapping[str, Any]) -> str:
    """Returns options as they are written in a call."""
    return ", ".join(f"{name}={value!r}" for name, value in options.items())
