"""Whether Python code of a step lets go of the interpreter's lock, as NumPy and PIL do."""

from __future__ import annotations

import time
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import Chain
from estimator_io.profiling.costs import Cost, Sample
from estimator_io.profiling.eagerly import eager_mode
from estimator_io.profiling.usage import Usage

__all__ = ["steps_without_lock"]

CALLS = 4
# Threads that could run at once: one where the lock is held throughout.
LEAST_RUNNABLE = 1.5


def steps_without_lock(
    chain: Chain, costs: list[Cost], samples: list[Sample], seconds: float
) -> frozenset[int]:
    """Returns the steps that call Python, compute, and can do so in several threads.

    Each is run with four calls at once. Threads that compute or wait for a core are counted, which
    a busy machine does not change; threads that wait for the lock are neither.
    """
    asked = [
        at
        for at, step in enumerate(chain.steps)
        if step.python and step.with_calls and at > 0 and costs[at].cpu > costs[at].waiting
    ]
    found = set()
    with eager_mode():
        for at in asked:
            dataset = chain.steps[at].at_once(CALLS).apply(samples[at - 1].dataset.repeat())
            if _runnable(dataset, seconds / len(asked)) >= LEAST_RUNNABLE:
                found.add(at)
    return frozenset(found)


def _runnable(dataset: Any, seconds: float) -> float:
    options = tf.data.Options()
    options.threading.private_threadpool_size = CALLS
    iterator = iter(dataset.with_options(options))
    next(iterator)
    start = Usage.now()
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        next(iterator)
    used = Usage.now().since(start)
    return (used.cpu + used.queued) / used.wall
