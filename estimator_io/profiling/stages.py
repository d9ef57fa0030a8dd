"""The stages of a report from the steps that were measured, and what to know about the figures."""

from __future__ import annotations

import itertools

from estimator_io.profiling.chain import AUTOTUNE
from estimator_io.profiling.context import Measured
from estimator_io.profiling.flow import Node
from estimator_io.profiling.model import calls_at_once
from estimator_io.profiling.report import Stage, Verdict

__all__ = ["notes_of", "stages_of"]

# From here on the report says so.
DOUBTFUL = 2.0
# What TensorFlow calls the iterators of a kind of step, in its own model.
_NODES = {
    "map": ("Map", "ParallelMap", "ParallelMapV2", "MapAndBatch"),
    "interleave": (
        "ParallelInterleave",
        "ParallelInterleaveV2",
        "ParallelInterleaveV3",
        "ParallelInterleaveV4",
    ),
    "prefetch": ("Prefetch",),
    "shuffle": ("Shuffle", "ShuffleAndRepeat"),
}


def stages_of(measured: Measured, verdict: Verdict) -> tuple[Stage, ...]:
    """Returns the stages, each of one step or of several that belong together."""
    steps, numbers = measured.chain.steps, measured.numbers
    nodes = _nodes(measured)
    limiting = {verdict.stage, *verdict.also}
    found = []
    shown = [at for at, step in enumerate(steps) if step.kind != "free"]
    for name, group in itertools.groupby(shown, key=lambda at: steps[at].stage):
        members = list(group)
        last = members[-1]
        node = next((nodes[at] for at in reversed(members) if at in nodes), None)
        chosen = None if node is None else node.parallelism
        buffer = None if node is None or node.buffer is None else (node.buffered, node.buffer)
        found.append(
            Stage(
                name=name,
                place=next((steps[at].place for at in members if steps[at].place), None),
                elements=numbers[last],
                seconds=sum(numbers[at] * measured.costs[at].seconds for at in members),
                cpu_seconds=sum(numbers[at] * measured.costs[at].cpu for at in members),
                waiting_seconds=sum(numbers[at] * measured.costs[at].waiting for at in members),
                bytes=measured.costs[last].bytes,
                asked=_asked(measured, members),
                chosen=chosen,
                buffered=buffer,
                python=any(steps[at].python for at in members),
                limits=name in limiting,
            )
        )
    return tuple(found)


def _asked(measured: Measured, members: list[int]) -> str:
    steps = measured.chain.steps
    maps = [at for at in members if steps[at].kind in ("map", "interleave")]
    at = maps[-1] if maps else members[-1]
    calls = calls_at_once(steps[at], measured.chain)
    if steps[at].kind == "prefetch":
        return "AUTOTUNE" if steps[at].size == AUTOTUNE else f"{steps[at].size} elements"
    if calls == AUTOTUNE:
        return "AUTOTUNE" if steps[at].calls == AUTOTUNE else "AUTOTUNE (by TensorFlow)"
    return "1" if calls is None else str(calls)


def _nodes(measured: Measured) -> dict[int, Node]:
    """Returns TensorFlow's own figures of steps, where the two can be told to be the same."""
    found: dict[int, Node] = {}
    for kind, names in _NODES.items():
        ats = [at for at, step in enumerate(measured.chain.steps) if step.kind == kind]
        nodes = [node for node in measured.flow.nodes if node.name in names][::-1]
        if kind == "prefetch" and len(nodes) == len(ats) + 1:
            nodes = nodes[: len(ats)]  # the last one is TensorFlow's own
        if len(ats) == len(nodes):
            found |= dict(zip(ats, nodes, strict=True))
    return found


def notes_of(measured: Measured) -> tuple[str, ...]:
    """Returns what to know about the figures."""
    notes = []
    machine, flow = measured.machine, measured.flow
    if machine.load > machine.cores:
        notes.append(
            f"The machine was busy with something else (load {machine.load:.1f} on"
            f" {machine.cores} cores): rates are lower than they would be alone."
        )
    if flow.seconds_per_batch is None:
        notes.append(
            "No two batches came in the time, so the rate comes from the stages. Give more seconds."
        )
    if measured.target_caches:
        notes.append(
            "The pipeline has a cache. What was measured is the pass that fills it; later passes"
            " run what stands behind it alone."
        )
    if measured.doubt > DOUBTFUL:
        notes.append(
            f"The stages would explain {measured.off / measured.seconds_per_batch:.1f} batches/s"
            f" and {1 / measured.seconds_per_batch:.1f} were measured: what the threads lose to"
            " each other,"
            " to AUTOTUNE's search, or to other programs. Predictions are less sure."
        )
    fn = measured.input_fn
    if fn is not None and fn.options.service is not None:
        notes.append("The service was left out: the stages were measured in this process.")
    return tuple(notes)
