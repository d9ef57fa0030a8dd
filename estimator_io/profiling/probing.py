"""A few elements of a Dataset: their size, how long they take, and whether there are any at all."""

from __future__ import annotations

import dataclasses
import itertools
import statistics
import time
from typing import Any

import tensorflow as tf

from estimator_io.errors import ProfileError
from estimator_io.profiling.chain import Chain
from estimator_io.profiling.eagerly import plain

__all__ = ["PATIENCE_SECONDS", "Probe", "gives_elements", "probe"]

PROBES = 8
# A single element may take this long, or the profile's whole time where that is more.
PATIENCE_SECONDS = 15.0


@dataclasses.dataclass(frozen=True)
class Probe:
    """What a few elements tell.

    Attributes:
      first: seconds until the first one.
      each: seconds of one more, the median.
      bytes: of one.
      rows: the leading dimension of one, 1 for a scalar.
    """

    first: float
    each: float
    bytes: float
    rows: int


def probe(dataset: Any, seconds: float, intra_op: int | None) -> Probe | None:
    """Reads a few elements for their size, and to see how many there is time for."""
    start = time.perf_counter()
    iterator = iter(plain(dataset, intra_op))
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
    gaps = [end - begin for begin, end in itertools.pairwise(times)]
    each = statistics.median(gaps) if gaps else first
    return Probe(first, each, sum(sizes) / len(sizes), rows)


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


def gives_elements(chain: Chain) -> bool:
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
        f"The step {chain.steps[-1].spelled} let none of the first {number:,} elements through."
        " Expected: at least one. Look at the filter."
    )
