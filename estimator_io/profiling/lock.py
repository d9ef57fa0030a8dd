"""Whether Python code of a step lets go of the interpreter's lock, as NumPy and PIL do."""

from __future__ import annotations

import statistics
import threading
import time
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import Chain
from estimator_io.profiling.costs import Cost, Sample
from estimator_io.profiling.crowding import Crowding
from estimator_io.profiling.eagerly import eager_mode

__all__ = ["steps_without_lock"]

CALLS = 4
SLEEP_SECONDS = 1e-3
LEAST_SLEEPS = 8
# Half of the time after which Python makes a thread let go.
HELD_SECONDS = 2.5e-3


def steps_without_lock(
    chain: Chain, costs: list[Cost], samples: list[Sample], seconds: float
) -> frozenset[int]:
    """Returns the steps that call Python, compute, and can do so in several threads.

    Each is run with four calls at once, while a thread sleeps for a millisecond again and again. If
    the lock is held, it gets it back only when Python makes the holder let go, after 5 ms
    (`sys.getswitchinterval`), however many cores there are.
    """
    asked = [
        at
        for at, step in enumerate(chain.steps)
        if step.python and step.with_calls and at > 0 and costs[at].cpu > costs[at].waiting
    ]
    found = set()
    crowding = Crowding.now() if asked else Crowding()
    with eager_mode():
        for at in asked:
            dataset = chain.steps[at].at_once(CALLS).apply(samples[at - 1].dataset.repeat())
            if _late(dataset, seconds / len(asked)) < 2 * crowding.wake + HELD_SECONDS:
                found.add(at)
    return frozenset(found)


def _late(dataset: Any, seconds: float) -> float:
    """Returns by how many seconds a short sleep ends too late, in the better quarter of times."""
    options = tf.data.Options()
    options.threading.private_threadpool_size = CALLS
    iterator = iter(dataset.with_options(options))
    next(iterator)
    end, done = time.perf_counter() + seconds, threading.Event()

    def read() -> None:
        with eager_mode():
            while not done.is_set():
                next(iterator)

    thread = threading.Thread(target=read, name="estimator-io-profile", daemon=True)
    thread.start()
    late: list[float] = []
    while len(late) < LEAST_SLEEPS or time.perf_counter() < end:
        began = time.perf_counter()
        time.sleep(SLEEP_SECONDS)
        late.append(time.perf_counter() - began - SLEEP_SECONDS)
    done.set()
    thread.join()
    return statistics.quantiles(late, n=4)[0]
