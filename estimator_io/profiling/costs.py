"""What each step costs by itself: one call at a time, on elements that lie in memory.

A step is applied to a sample of what comes to it. Its own output, kept in memory too, is the sample
for the next one, so that the whole pipeline runs once, each step for a share of the time.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import NoDataError, ProfileError
from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.crowding import Crowding
from estimator_io.profiling.eagerly import bounded, cached
from estimator_io.profiling.objects import plain
from estimator_io.profiling.usage import Usage

__all__ = ["Cost", "Sample", "costs_from", "costs_of", "elements_per_batch", "spell_step", "within"]

MOST_BYTES = 32 << 20
MOST_ELEMENTS = 2048
LEAST_ELEMENTS = 8
PROBES = 8
WINDOW_SECONDS = 0.02
LEAST_WINDOWS = 5
READ_ELEMENTS = 256
LEAST_WAIT_SECONDS = 1e-4
# A single element may take this long, or the profile's whole time where that is more.
PATIENCE_SECONDS = 15.0


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
    """

    seconds: float
    cpu: float
    bytes: float
    inputs: float
    first: float
    elements: int
    rows: int = 1

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
            patience = max(2 * PATIENCE_SECONDS, seconds)
            cost, sample = bounded(work, patience, f"The step {spell_step(step)}")
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
        dataclasses.replace(cost, cpu=cost.cpu * part, seconds=cost.waiting + cost.cpu * part)
        for cost in costs
    ]


def elements_per_batch(costs: Sequence[Cost]) -> list[float]:
    """Returns how many elements leave each step for one batch."""
    numbers = [1.0]
    for cost in reversed(costs[1:]):
        numbers.append(numbers[-1] * cost.inputs)
    return numbers[::-1]


def spell_step(step: Step) -> str:
    """Returns the name of a step for messages, with its line."""
    return f"{step.stage!r}{f' at {step.place}' if step.place else ''}"


def _free(before: Cost) -> Cost:
    """Returns the cost of a step that hands elements on as they are."""
    return dataclasses.replace(before, seconds=0.0, cpu=0.0, inputs=1.0, first=0.0)


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
    probe = _probe(dataset, seconds * 0.3)
    if probe is None:
        return _of_rare(chain, at, seconds)
    asked = _number(step, before, probe, seconds * 0.6)
    kept = cached(plain(dataset).take(asked))
    used, number = _timed(kept, asked, probe.each, crowding)
    inputs = _inputs(step, before, probe, number, exhausted=number < asked)
    reading = inputs * (before.read_seconds if before else 0.0)
    busy = max(0.0, used.cpu - reading - _keep_seconds())
    waiting = used.wall - used.cpu - used.queued
    # Threads that hand elements to each other are idle for some microseconds.
    waiting = waiting if waiting > LEAST_WAIT_SECONDS else 0.0
    cost = Cost(
        seconds=busy + waiting,
        cpu=busy,
        bytes=probe.bytes,
        inputs=inputs,
        first=probe.first,
        elements=number,
        rows=probe.rows,
    )
    return cost, Sample(kept, number, _read_seconds(kept), cost.rows)


def _number(step: Step, before: Sample | None, probe: _Probe, seconds: float) -> int:
    """Returns how many elements to measure: what there is time and memory for."""
    most = max(1, min(MOST_ELEMENTS, int(MOST_BYTES / max(1.0, probe.bytes))))
    number = max(LEAST_ELEMENTS, int(seconds / max(probe.each, 1e-7)))
    if step.kind == "filter" and before is not None:
        number = max(number, before.count)
    return min(most, number)


def _timed(kept: Any, most: int, each: float, crowding: Crowding) -> tuple[Usage, int]:
    """Returns what an element of `kept` takes, and how many there are; fills its memory.

    Windows are read rather than elements, since a call from Python costs more than many a step.
    What comes first is left out, as it pays for the start.
    """
    size = max(1, min(int(WINDOW_SECONDS / max(each, 1e-7)), most // LEAST_WINDOWS))
    iterator = iter(plain(kept.window(size)))
    marks = [(0, Usage.now())]
    for window in iterator:
        length = int(tf.nest.flatten(window)[0].cardinality())
        marks.append((marks[-1][0] + length, Usage.now()))
    whole = marks[1:] if len(marks) > 2 else marks
    used = _least_disturbed(whole, crowding)
    own = min(used.cpu, _window_seconds() / size)
    return Usage(used.wall - own, used.cpu - own, used.queued), marks[-1][0]


def _least_disturbed(marks: list[tuple[int, Usage]], crowding: Crowding) -> Usage:
    """Returns what an element took: in all windows, or on a busy machine in those that tell."""
    spans = [
        (end[0] - begin[0], end[1].since(begin[1]))
        for begin, end in itertools.pairwise(marks)
        if end[0] > begin[0]
    ]
    if crowding.quiet:
        return _mean(spans)
    spans.sort(key=lambda span: span[1].wall / span[0])
    fastest = _mean(spans[: max(1, len(spans) // 4)])
    # TensorFlow's threads spin before they sleep, and queue for a core too if they lose it then. So
    # the queue is counted too high, and what it leaves for waiting is too low, in one window more
    # than in the next.
    idle = sorted((used.wall - used.cpu - used.queued) / number for number, used in spans)
    waiting = min(idle[(3 * len(idle)) // 4], fastest.wall - fastest.cpu)
    return Usage(fastest.cpu + max(0.0, waiting), fastest.cpu, 0.0)


def _mean(spans: list[tuple[int, Usage]]) -> Usage:
    elements = sum(number for number, _ in spans)
    return Usage(
        sum(used.wall for _, used in spans) / elements,
        sum(used.cpu for _, used in spans) / elements,
        sum(used.queued for _, used in spans) / elements,
    )


def _of_rare(chain: Chain, at: int, seconds: float) -> tuple[Cost, Sample]:
    """Returns the cost of a step that let nothing of the sample through, as far as can be told."""
    step = chain.steps[at]
    dataset = dataclasses.replace(chain, steps=chain.steps[: at + 1]).build()
    if not _any(dataclasses.replace(chain, steps=chain.steps[: at + 1])):
        raise NoDataError(
            f"No element leaves the step {spell_step(step)}. Expected: at least one. Look at the"
            " files, the filter, or the size of a batch with drop_remainder."
        )
    probe = _probe(dataset, seconds)
    kept = cached(dataset.take(LEAST_ELEMENTS))
    _, number = _timed(kept, LEAST_ELEMENTS, 1.0, Crowding())
    found: Any = probe
    cost = Cost(0.0, 0.0, found.bytes, float(LEAST_ELEMENTS), found.first, number, found.rows)
    return cost, Sample(kept, number, _read_seconds(kept), cost.rows)


def _any(chain: Chain) -> bool:
    """Whether a step lets an element of its source through.

    More and more of the source is read, since TensorFlow cannot be stopped within one element: a
    filter that drops all of an endless source would run for ever.

    Raises:
      ProfileError: none came for a long time, and the source has more.
    """
    source = chain.steps[0].apply(None)
    end = time.perf_counter() + PATIENCE_SECONDS
    number, cardinality = 1024, int(source.cardinality())
    while time.perf_counter() < end:
        dataset = source.take(number)
        for step in chain.steps[1:]:
            dataset = step.apply(dataset)
        if any(True for _ in dataset.take(1)):
            return True
        if 0 <= cardinality <= number or not any(True for _ in source.skip(number).take(1)):
            return False
        number *= 4
    raise ProfileError(
        f"The step {spell_step(chain.steps[-1])} let none of the first {number:,} elements through."
        " Expected: at least one. Look at the filter."
    )


def _inputs(
    step: Step, before: Sample | None, probe: _Probe, outputs: int, *, exhausted: bool
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


@dataclasses.dataclass(frozen=True)
class _Probe:
    first: float
    each: float
    bytes: float
    rows: int


def _probe(dataset: Any, seconds: float) -> _Probe | None:
    """Reads a few elements for their size, and to see how many there is time for."""
    start = time.perf_counter()
    iterator = iter(plain(dataset))
    times, sizes, rows = [], [], 1
    for _ in range(PROBES):
        try:
            element = next(iterator)
        except StopIteration:
            break
        times.append(time.perf_counter())
        sizes.append(_bytes(element))
        rows = _rows(element)
        if times[-1] - start > seconds:
            break
    if not times:
        return None
    first = times[0] - start
    each = first if len(times) == 1 else (times[-1] - times[0]) / (len(times) - 1)
    return _Probe(first, each, sum(sizes) / len(sizes), rows)


def _bytes(element: Any) -> float:
    total = 0
    for leaf in tf.nest.flatten(element, expand_composites=True):
        if leaf.dtype == tf.string:
            total += (
                sum(len(text) for text in leaf.numpy().reshape([-1]).tolist())
                if (leaf.shape.rank)
                else len(leaf.numpy())
            )
        elif leaf.dtype != tf.variant:
            total += leaf.dtype.size * int(tf.size(leaf))
    return float(total)


def _rows(element: Any) -> int:
    leaves = tf.nest.flatten(element, expand_composites=True)
    shapes = [leaf.shape for leaf in leaves if leaf.dtype != tf.variant]
    return int(shapes[0][0]) if shapes and shapes[0].rank else 1


@functools.cache
def _window_seconds() -> float:
    """Returns the seconds of the processor that a window takes in Python, measured once too."""
    iterator = iter(plain(cached(tf.data.Dataset.range(READ_ELEMENTS)).window(1)))
    next(iterator)
    start = Usage.now()
    number = sum(int(tf.nest.flatten(window)[0].cardinality()) for window in iterator)
    return Usage.now().since(start).cpu / number


@functools.cache
def _keep_seconds() -> float:
    """Returns the seconds of the processor that keeping one small element takes by itself.

    It is a constant of the machine, so it is measured once.
    """
    number = 4 * READ_ELEMENTS
    iterator = iter(plain(cached(tf.data.Dataset.range(number)).window(READ_ELEMENTS)))
    next(iterator)
    start = Usage.now()
    for _ in iterator:
        pass
    return Usage.now().since(start).cpu / (number - READ_ELEMENTS)


def _read_seconds(dataset: Any) -> float:
    """Returns the seconds of the processor that taking one element out of memory costs."""
    iterator = iter(plain(dataset.repeat().window(READ_ELEMENTS).take(3)))
    next(iterator)
    start = Usage.now()
    for _ in iterator:
        pass
    return Usage.now().since(start).cpu / (2 * READ_ELEMENTS)
