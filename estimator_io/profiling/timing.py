"""What one element takes, timed in windows of them and read into memory on the way."""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.profiling.crowding import Crowding
from estimator_io.profiling.eagerly import cached, plain
from estimator_io.profiling.usage import Usage

__all__ = ["Taken", "keep_seconds", "least_disturbed", "read_seconds", "timed", "window_size"]

WINDOW_SECONDS = 0.02
LEAST_WINDOWS = 5
READ_ELEMENTS, READ_WINDOWS = 256, 4
LEAST_WAIT_SECONDS = 1e-4
LEAST_THREADS = 1.2


@dataclasses.dataclass(frozen=True)
class Taken:
    """What one element takes.

    Attributes:
      cpu: seconds of the processor.
      waiting: seconds in which nothing is computed, and no thread queues for a core.
      threads: that compute at once within one call, where operations may use several.
    """

    cpu: float
    waiting: float
    threads: float = 1.0


def window_size(each: float, most: int) -> int:
    """Returns the elements of a window, so that there are some and each takes a while.

    Args:
      each: seconds of one.
      most: elements in all.
    """
    return max(1, min(int(WINDOW_SECONDS / max(each, 1e-7)), most // LEAST_WINDOWS))


def timed(windows: Any, size: int, crowding: Crowding) -> tuple[Taken, int]:
    """Returns what an element takes, and how many there are.

    Windows are read rather than elements, since a call from Python costs more than many a step.
    What comes first is left out, as it pays for the start.

    Args:
      windows: of elements, a finite Dataset.
      size: of a window.
      crowding: of the machine.
    """
    iterator = iter(windows)
    marks = [(0, Usage.now())]
    for window in iterator:
        length = int(tf.nest.flatten(window)[0].cardinality())
        marks.append((marks[-1][0] + length, Usage.now()))
    whole = marks[1:] if len(marks) > 2 else marks
    taken = least_disturbed(whole, crowding)
    own = min(taken.cpu, _window_seconds() / size)
    return dataclasses.replace(taken, cpu=taken.cpu - own), marks[-1][0]


def least_disturbed(marks: Sequence[tuple[int, Usage]], crowding: Crowding) -> Taken:
    """Returns what an element took: in all windows, or on a busy machine in those that tell.

    Args:
      marks: (elements so far, what was used so far) at the end of each window.
      crowding: of the machine.
    """
    spans = [
        (end[0] - begin[0], end[1].since(begin[1]))
        for begin, end in itertools.pairwise(marks)
        if end[0] > begin[0]
    ]
    if crowding.quiet:
        mean = _mean(spans)
        return _taken(mean, mean.wall - mean.cpu - mean.queued)
    spans.sort(key=lambda span: span[1].wall / span[0])
    fastest = _mean(spans[: max(1, len(spans) // 4)])
    # TensorFlow's threads spin before they sleep, and queue for a core too if they lose it then. So
    # the queue is counted too high, and what it leaves for waiting is too low, in one window more
    # than in the next.
    idle = sorted((used.wall - used.cpu - used.queued) / number for number, used in spans)
    return _taken(fastest, min(idle[(3 * len(idle)) // 4], fastest.wall - fastest.cpu))


def _taken(used: Usage, waiting: float) -> Taken:
    threads = used.cpu / max(used.wall, 1e-9)
    # Threads that hand elements to each other are idle for some microseconds, or run for some.
    return Taken(
        used.cpu,
        waiting if waiting > LEAST_WAIT_SECONDS else 0.0,
        threads if threads > LEAST_THREADS else 1.0,
    )


def _mean(spans: Sequence[tuple[int, Usage]]) -> Usage:
    elements = sum(number for number, _ in spans)
    return Usage(
        sum(used.wall for _, used in spans) / elements,
        sum(used.cpu for _, used in spans) / elements,
        sum(used.queued for _, used in spans) / elements,
    )


def _least_cpu(windows: Any, elements: int) -> float:
    """Returns the seconds of the processor for one element, in the window that took least."""
    iterator = iter(windows)
    next(iterator)  # it pays for the start
    marks = [Usage.now()]
    marks += [Usage.now() for _ in iterator]
    return min(end.since(begin).cpu for begin, end in itertools.pairwise(marks)) / elements


@functools.cache
def _window_seconds() -> float:
    """Returns the seconds of the processor that a window takes in Python, measured once too."""
    iterator = iter(plain(cached(tf.data.Dataset.range(READ_ELEMENTS)).window(1)))
    next(iterator)
    start = Usage.now()
    number = sum(int(tf.nest.flatten(window)[0].cardinality()) for window in iterator)
    return Usage.now().since(start).cpu / number


@functools.cache
def keep_seconds() -> float:
    """Returns the seconds of the processor that keeping one small element takes by itself.

    It is a constant of the machine, so it is measured once.
    """
    kept = cached(tf.data.Dataset.range(READ_WINDOWS * READ_ELEMENTS))
    return _least_cpu(plain(kept.window(READ_ELEMENTS)), READ_ELEMENTS)


def read_seconds(dataset: Any) -> float:
    """Returns the seconds of the processor that taking one element out of memory costs."""
    windows = dataset.repeat().window(READ_ELEMENTS).take(READ_WINDOWS)
    return _least_cpu(plain(windows), READ_ELEMENTS)
