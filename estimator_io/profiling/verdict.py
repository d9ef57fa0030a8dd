"""Input-bound, step-bound or balanced, and the stage that limits the pipeline.

The rule: seconds of a batch from the pipeline alone over seconds of a step. Above 1.1 training is
input-bound, below 0.9 it is step-bound, else balanced.
"""

from __future__ import annotations

from estimator_io.profiling.context import Measured
from estimator_io.profiling.report import Verdict
from estimator_io.profiling.spelling import seconds as spell_seconds

__all__ = ["judge", "limiting_stages"]

INPUT_BOUND = 1.1
STEP_BOUND = 0.9
NEARLY = 0.8

_LIMITS = {
    "thread": "one thread does its work, one element after the other",
    "calls": "all of its calls are busy",
    "pool": "all threads of the pool are busy with it",
    "scaling": "more calls at once do not make it faster",
    "lock": "its Python code holds the interpreter's lock",
    "cores": "it has the cores busy",
}


def judge(measured: Measured) -> Verdict:
    """Returns the verdict."""
    stage, also, limit = limiting_stages(measured)
    seconds, step = measured.seconds_per_batch, measured.step_seconds
    ratio = None if step is None else seconds / max(step, 1e-9)
    kind = _kind(ratio)
    others = f" ({', '.join(also)} nearly as much)" if also else ""
    where = f"{stage} limits the pipeline{others}: {_LIMITS[limit]}."
    alone = f"A batch takes {spell_seconds(seconds)} to prepare"
    texts = {
        "input-bound": f"{alone} and the step {spell_seconds(step or 0)}, so the step waits."
        f" {where}",
        "step-bound": f"{alone} and the step {spell_seconds(step or 0)}, so input waits for the"
        " step; a faster pipeline would change nothing.",
        "balanced": f"{alone} and the step {spell_seconds(step or 0)}: both are equally fast."
        f" {where}",
        "no step given": f"{alone}. A step shorter than that waits for input; a longer one does"
        f" not. {where}",
    }
    return Verdict(kind, ratio, stage, also, limit, texts[kind])


def _kind(ratio: float | None) -> str:
    if ratio is None:
        return "no step given"
    if ratio > INPUT_BOUND:
        return "input-bound"
    return "step-bound" if ratio < STEP_BOUND else "balanced"


def limiting_stages(measured: Measured) -> tuple[str, tuple[str, ...], str]:
    """Returns the stage that limits, those that nearly do, and what it has used up."""
    part = measured.parts[0]
    shares: dict[str, float] = {}
    for at, seconds in part.shares:
        name = measured.chain.steps[at].stage
        shares[name] = shares.get(name, 0.0) + seconds
    first = max(shares, key=lambda name: shares[name])
    most = shares[first]
    # Stages that overlap with the limiting one and are as slow limit as much.
    for other in measured.parts[1:]:
        if other.kind in ("thread", "calls"):
            name = measured.chain.steps[other.shares[0][0]].stage
            shares[name] = max(shares.get(name, 0.0), other.shares[0][1])
    ordered = sorted(shares, key=lambda name: -shares[name])
    near = [name for name in ordered if name != first and shares[name] >= NEARLY * most]
    return first, tuple(near), part.kind
