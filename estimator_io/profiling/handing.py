"""What handing a batch to the program costs, however fast the pipeline is."""

from __future__ import annotations

import itertools
import statistics
import time

from estimator_io.profiling.costs import Sample

__all__ = ["handing_seconds"]

SECONDS = 0.1
LEAST_BATCHES = 8
BUFFERED = 2


def handing_seconds(sample: Sample) -> float:
    """Returns the seconds until the next batch where batches lie in memory.

    Python, TensorFlow's runtime and the hand-over from the thread that prefetches take some tens of
    microseconds, and nothing that is changed in a pipeline makes that less.

    Args:
      sample: of the batches.
    """
    iterator = iter(sample.dataset.repeat().prefetch(BUFFERED))
    next(iterator)
    marks = [time.perf_counter()]
    while len(marks) < LEAST_BATCHES or marks[-1] < marks[0] + SECONDS:
        next(iterator)
        marks.append(time.perf_counter())
    return statistics.median(end - begin for begin, end in itertools.pairwise(marks))
