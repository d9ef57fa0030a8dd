"""How many calls run at once: a given number, or AUTOTUNE over a pool that is worth tuning."""

from __future__ import annotations

import functools
import os
from typing import Any

import tensorflow as tf

from estimator_io.ops.runtime import with_pool

__all__ = ["calls_within", "default_threads", "number_or_autotune", "parallel", "tf_options"]

# AUTOTUNE never runs more calls at once than the pipeline's pool has threads, and TensorFlow's own
# pool has one a core, so waits for storage overlap no more than there are cores: on 2 cores a map
# that waits 40 ms a row gave 48 rows/s, with 16 threads 387. But threads that compute take turns
# with the one that runs the step: where preparation just fits behind the step, 16 threads on 2
# cores cost 15 % of the steps, 8 cost 11 %, and 4 cost 2 %, within the noise (docs/benchmarks.md).
THREADS_PER_CORE = 2
THREADS_THAT_WAIT = 16


def default_threads(*, waits: bool) -> int:
    """Returns the threads of a pipeline's own pool where the user gave no number.

    Args:
      waits: whether reading a row waits for a network rather than for the processor.
    """
    # The affinity is not known on macOS and Windows.
    known = hasattr(os, "sched_getaffinity")
    cores = len(os.sched_getaffinity(0)) if known else os.cpu_count() or 1
    return max(THREADS_PER_CORE * cores, THREADS_THAT_WAIT if waits else 1)


def number_or_autotune(number: int | None) -> int:
    """Returns `number`, or tf.data.AUTOTUNE for None."""
    return tf.data.AUTOTUNE if number is None else number


def calls_within(number: int | None, cycle_length: int) -> int:
    """Returns the calls of an interleave, which takes no more than it has files open."""
    return number_or_autotune(None if number is None else min(number, cycle_length))


def parallel(number: int | None, *, deterministic: bool = True) -> dict[str, Any]:
    """Returns the keyword arguments of a parallel map that keeps the order of its rows, or not."""
    return {"num_parallel_calls": number_or_autotune(number), "deterministic": deterministic}


def tf_options(threads: int, *, deterministic: bool) -> functools.partial:
    """Returns the call that gives a pipeline a pool of its own and keeps the order of its rows."""
    return functools.partial(with_pool, threads=threads, deterministic=deterministic)
