"""How many calls run at once: a given number, or AUTOTUNE over a pool that is worth tuning."""

from __future__ import annotations

import functools
import os
from typing import Any

import tensorflow as tf

from estimator_io.ops.runtime import with_pool

__all__ = ["default_threads", "number_or_autotune", "parallel", "tf_options"]

# AUTOTUNE never runs more calls at once than the pipeline's pool has threads, and TensorFlow's own
# pool has one a core. Reading from disk or network waits more than it computes, so a small machine
# with the default pool cannot overlap the waits: on 2 cores a map that waits 40 ms a row gave 48
# rows/s, with 16 threads 387 (docs/benchmarks.md). For maps that only compute, 16 threads on
# 2 cores were not slower.
LEAST_THREADS = 16


def default_threads() -> int:
    """Returns the threads of a pipeline's own pool where the user gave no number."""
    if hasattr(os, "sched_getaffinity"):  # not on macOS and Windows
        return max(LEAST_THREADS, len(os.sched_getaffinity(0)))
    return max(LEAST_THREADS, os.cpu_count() or 1)


def number_or_autotune(number: int | None) -> int:
    """Returns `number`, or tf.data.AUTOTUNE for None."""
    return tf.data.AUTOTUNE if number is None else number


def parallel(number: int | None, *, deterministic: bool = True) -> dict[str, Any]:
    """Returns the keyword arguments of a parallel map that keeps the order of its rows, or not."""
    return {"num_parallel_calls": number_or_autotune(number), "deterministic": deterministic}


def tf_options(threads: int | None, *, deterministic: bool) -> functools.partial:
    """Returns the call that gives a pipeline a pool of its own and keeps the order of its rows."""
    number = default_threads() if threads is None else threads
    return functools.partial(with_pool, threads=number, deterministic=deterministic)
