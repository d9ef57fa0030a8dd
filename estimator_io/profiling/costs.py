"""What each step costs by itself: one call at a time, on elements that lie in memory.

A step is applied to a sample of what comes to it. Its own output, kept in memory too, is the sample
for the next one, so that the whole pipeline runs once, each step for a share of the time.
"""

from __future__ import annotations

import dataclasses
import functools
import time
from collections.abc import Sequence
from typing import Any

from estimator_io.profiling import probing
from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.crowding import Crowding
from estimator_io.profiling.eagerly import bounded, cached, plain
from estimator_io.profiling.failing import no_element, told
from estimator_io.profiling.probing import Probe
from estimator_io.profiling.timing import keep_seconds, read_seconds, timed, window_size

__all__ = ["Cost", "Sample", "costs_from", "costs_of", "elements_per_batch", "within"]

MOST_BYTES = 32 << 20
MOST_ELEMENTS = 2048
LEAST_ELEMENTS = 8


@dataclasses.dataclass(frozen=True)
class Cost:
    """What one element that leaves a step takes, one call at a time.

    Attributes:
      seconds: of the processor and of waiting, the queue for a core left out.
      cpu: seconds of the processor.
      bytes: of the element.
      inputs: elements that come in for each that leaves.
      first: seconds until the first one.
      elements: that were measured.
      rows: the leading dimension of an element, 1 for a scalar.
      speedup: elements a second with a call for every core over those with one call; None where
        it was not measured.
      locked: the share of the processor's seconds in which Python code holds the interpreter's
        lock; of no meaning for steps that call no Python.
      whole: whether `inputs` was seen to its end. Where it was not, such as for a file of which the
        first rows alone were read, an element that comes in gives 1 / inputs or more.
    """

    seconds: float
    cpu: float
    bytes: float
    inputs: float
    first: float
    elements: int
    rows: int = 1
    speedup: float | None = None
    locked: float = 1.0
    whole: bool = True

    @property
    def waiting(self) -> float:
        """Seconds in which nothing was computed."""
        return max(0.0, self.seconds - self.cpu)


@dataclasses.dataclass(frozen=True, eq=False)
class Sample:
    """Elements that lie in memory, as they leave a step.

    Attributes:
      dataset: of them, finite.
      count: how many.
      read_seconds: that taking one out of memory costs.
      rows: the leading dimension of one.
    """

    dataset: Any
    count: int
    read_seconds: float
    rows: int = 1


def costs_of(chain: Chain, seconds: float) -> tuple[list[Cost], list[Sample]]:
    """Returns the cost of each step, and a sample of what leaves it.

    Args:
      chain: the pipeline.
      seconds: for all steps together.

    Raises:
      NoDataError: a step lets no element through.
      ProfileError: a step gives nothing for a long time.
    """
    costs, samples = _walk(chain, 0, len(chain.steps), [], [], seconds)
    return costs, samples


def costs_from(
    chain: Chain, first: int, end: int, sample: Sample, cost: Cost, seconds: float
) -> list[Cost]:
    """Returns the costs of the steps from `first` up to `end`, this one not included.

    Args:
      chain: the pipeline.
      first: the first step to measure.
      end: behind the last one.
      sample: of what comes to the first.
      cost: of the step before it.
      seconds: for all of them together.
    """
    costs, _ = _walk(chain, first, end, [cost], [sample], seconds)
    return costs[1:]


def _walk(
    chain: Chain, first: int, end: int, costs: list[Cost], samples: list[Sample], seconds: float
) -> tuple[list[Cost], list[Sample]]:
    deadline = time.perf_counter() + seconds
    crowding = Crowding.now()
    for at in range(first, end):
        step = chain.steps[at]
        left = max(0.0, deadline - time.perf_counter())
        share = left / (end - at)
        if step.kind in ("prefetch", "cache", "free"):
            kept = samples[-1].dataset
            kept = step.apply(kept) if step.kind == "free" else kept
            cost, sample = _free(costs[-1]), dataclasses.replace(samples[-1], dataset=kept)
        else:
            before = samples[-1] if samples else None
            work = functools.partial(_measure, chain, at, before, share, crowding)
            patience = max(2 * probing.PATIENCE_SECONDS, seconds)
            with told([step]):
                cost, sample = bounded(work, patience, f"The step {step.spelled}")
        costs.append(cost)
        samples.append(sample)
    return costs, samples


def within(costs: Sequence[Cost], cpu_seconds: float | None) -> list[Cost]:
    """Returns costs that use no more of the processor than the whole pipeline did.

    A step by itself also pays for its start, and for threads that spin while they wait.

    Args:
      costs: of each step.
      cpu_seconds: of the processor that the whole took for a batch; None where it is not known.
    """
    total = sum(
        number * cost.cpu for number, cost in zip(elements_per_batch(costs), costs, strict=True)
    )
    if cpu_seconds is None or total <= cpu_seconds:
        return list(costs)
    part = cpu_seconds / total
    return [
        dataclasses.replace(
            cost, cpu=cost.cpu * part, seconds=cost.waiting + part * (cost.seconds - cost.waiting)
        )
        for cost in costs
    ]


def elements_per_batch(costs: Sequence[Cost]) -> list[float]:
    """Returns how many elements leave each step for one batch."""
    numbers = [1.0]
    for cost in reversed(costs[1:]):
        numbers.append(numbers[-1] * cost.inputs)
    return numbers[::-1]


def _free(before: Cost) -> Cost:
    """Returns the cost of a step that hands elements on as they are."""
    return dataclasses.replace(
        before, seconds=0.0, cpu=0.0, inputs=1.0, first=0.0, speedup=None, locked=1.0, whole=True
    )


def _measure(
    chain: Chain, at: int, before: Sample | None, seconds: float, crowding: Crowding
) -> tuple[Cost, Sample]:
    step = chain.steps[at]
    apply = step.serial or step.apply
    source: Any = None
    if before is not None:
        source = before.dataset if step.expands else before.dataset.repeat()
    dataset = apply(source)
    if before is None and 0 < int(dataset.cardinality()) < LEAST_ELEMENTS:
        dataset = dataset.repeat()  # as the chain does, so that more than the start is measured
    probe = probing.probe(dataset, seconds * 0.3, chain.intra_op)
    if probe is None:
        return _of_rare(chain, at, seconds)
    asked = _number(step, before, probe, seconds * 0.6)
    kept = cached(dataset.take(asked))
    size = window_size(probe.each, asked)
    taken, number = timed(plain(kept.window(size), chain.intra_op), size, crowding)
    exhausted = number < asked
    inputs = _inputs(step, before, probe, number, exhausted=exhausted)
    reading = inputs * (before.read_seconds if before else 0.0)
    cpu = max(0.0, taken.cpu - reading - keep_seconds())
    cost = Cost(
        seconds=cpu / taken.threads + taken.waiting,
        cpu=cpu,
        bytes=probe.bytes,
        inputs=inputs,
        first=probe.first,
        elements=number,
        rows=probe.rows,
        whole=exhausted or step.kind not in ("flat_map", "interleave"),
    )
    return cost, Sample(kept, number, read_seconds(kept), cost.rows)


def _number(step: Step, before: Sample | None, probe: Probe, seconds: float) -> int:
    """Returns how many elements to measure: what there is time and memory for."""
    most = max(1, min(MOST_ELEMENTS, int(MOST_BYTES / max(1.0, probe.bytes))))
    number = max(LEAST_ELEMENTS, int(seconds / max(probe.each, 1e-7)))
    if step.kind == "filter" and before is not None:
        number = max(number, before.count)
    return min(most, number)


def _of_rare(chain: Chain, at: int, seconds: float) -> tuple[Cost, Sample]:
    """Returns the cost of a step that let nothing of the sample through, as far as can be told."""
    step = chain.steps[at]
    dataset = dataclasses.replace(chain, steps=chain.steps[: at + 1]).build()
    if not probing.gives_elements(dataclasses.replace(chain, steps=chain.steps[: at + 1])):
        raise no_element(step.spelled)
    probe = probing.probe(dataset, seconds, chain.intra_op)
    kept = cached(dataset.take(LEAST_ELEMENTS))
    _, number = timed(plain(kept.window(1), chain.intra_op), 1, Crowding())
    found: Any = probe
    cost = Cost(
        0.0, 0.0, found.bytes, float(LEAST_ELEMENTS), found.first, number, found.rows, whole=False
    )
    return cost, Sample(kept, number, read_seconds(kept), cost.rows)


def _inputs(
    step: Step, before: Sample | None, probe: Probe, outputs: int, *, exhausted: bool
) -> float:
    """Returns the elements that come in for each that leaves."""
    if before is None:
        return 0.0
    if step.kind == "batch":
        return float(step.size or probe.rows)
    if step.kind == "group":
        return float(probe.rows)
    if step.kind == "unbatch":
        return 1.0 / before.rows
    if not step.expands:
        return 1.0
    # Where there was time for a part of the sample alone, one element of it may have been enough.
    return (before.count if exhausted or step.kind == "filter" else 1.0) / outputs
