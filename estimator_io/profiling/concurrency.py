"""What several calls of a step at once bring, by a run of it, and whether Python's lock is why.

More threads help less than they say: two hyperthreads are not two cores, calls share the memory's
bandwidth and locks of libraries, handing an element over costs more than many a small map, and
Python code runs in one thread at a time. A model knows none of this, so it is measured.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.costs import Cost, Sample, elements_per_batch
from estimator_io.profiling.eagerly import bounded, plain
from estimator_io.profiling.usage import threads_now

__all__ = ["with_concurrency"]

LEAST_CALLS = 4
# Steps that take less than this part of the processor's seconds are not worth a run.
LEAST_SHARE = 0.1
MOST_STEPS = 3
# Steps that compute for less than this part of their time are left to the model; from the other on
# (seconds over those of the processor) waiting has no part in what several calls bring.
LEAST_COMPUTING, MOSTLY_COMPUTING = 0.25, 1.2
LEAST_SPEEDUP = 0.25
WINDOW_SECONDS = 0.004
LEAST_ROUND_SECONDS = 0.02
PATIENCE_SECONDS = 60.0
# Of the calls that could compute at once; where fewer do, something holds them.
FREE_SHARE = 0.75
TURN_SECONDS = 0.1


def with_concurrency(
    chain: Chain, costs: Sequence[Cost], samples: Sequence[Sample], cores: int, seconds: float
) -> list[Cost]:
    """Returns the costs with `speedup` and `locked` of the steps that compute most.

    Args:
      chain: the pipeline.
      costs: of its steps.
      samples: of what leaves them.
      cores: of the machine.
      seconds: for all of them together; a step whose elements take too long for it goes without.
    """
    found = list(costs)
    asked = _asked(chain, costs)
    for at in asked:
        python, cost, share = chain.steps[at].python, costs[at], seconds / len(asked)
        spread = cost.seconds / max(cost.cpu, 1e-9)  # calls of which one computes
        calls = max(LEAST_CALLS, cores) * max(1, round(spread))
        sample = samples[at - 1].dataset.repeat()
        runs = _Runs(chain.steps[at], sample, cost.seconds, calls, chain.intra_op)

        def measure(runs: _Runs = runs, python: bool = python, share: float = share) -> Any:
            with _long_turns():
                return runs.measured(share, python=python)

        what = f"The step {chain.steps[at].spelled}"
        speedup, runnable = bounded(measure, PATIENCE_SECONDS, what)
        locked = _locked(runnable, calls / max(1.0, spread), cores) if python else 0.0
        found[at] = dataclasses.replace(cost, locked=locked)
        if speedup is not None and spread < MOSTLY_COMPUTING:
            # More than a core for each brings nothing; what is measured above that is chance.
            most = min(float(cores), 1 / max(locked, 1e-9))
            found[at] = dataclasses.replace(
                found[at], speedup=max(LEAST_SPEEDUP, min(speedup, most))
            )
    return found


def _asked(chain: Chain, costs: Sequence[Cost]) -> list[int]:
    """Returns the steps that compute and can have several calls."""
    cpu = [n * cost.cpu for n, cost in zip(elements_per_batch(costs), costs, strict=True)]
    able = [
        at
        for at, step in enumerate(chain.steps)
        if at > 0
        and step.with_calls is not None
        and step.kind == "map"
        and costs[at].cpu > LEAST_COMPUTING * costs[at].seconds
        and cpu[at] > LEAST_SHARE * sum(cpu)
    ]
    return sorted(able, key=lambda at: -cpu[at])[:MOST_STEPS]


def _locked(runnable: float, calls: float, cores: int) -> float:
    """Returns the share of the processor's seconds under the interpreter's lock.

    Of calls that hold it for all of their time, one computes or queues for a core and the others
    sleep; of those that hold it for a part f, 1 / f do. That is so on a busy machine too.

    Args:
      runnable: threads that computed or queued for a core, on average.
      calls: that would compute at once if they could.
      cores: of the machine.
    """
    # Where the system does not tell of the queue, no more threads than cores are seen.
    most = calls if threads_now() else min(calls, cores)
    return 0.0 if runnable > FREE_SHARE * most else min(1.0, 1.0 / max(runnable, 1e-9))


@contextmanager
def _long_turns() -> Iterator[None]:
    """Lets a thread keep Python's lock until it lets go by itself, or for a tenth of a second.

    Else each one that waits for it wakes after 5 ms to ask for it, and on a busy machine queues for
    a core to do so, as if it could compute.
    """
    before = sys.getswitchinterval()
    sys.setswitchinterval(TURN_SECONDS)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


class _Runs:
    """One step with one call and with several, in turn, so that both meet the same machine."""

    def __init__(
        self, step: Step, sample: Any, seconds: float, calls: int, intra_op: int | None
    ) -> None:
        self.calls = calls
        self._seconds = max(seconds, 1e-7)
        self._size = max(1, int(WINDOW_SECONDS / self._seconds))
        serial = step.serial or step.apply
        self._one = iter(plain(serial(sample).window(self._size), intra_op))
        options = tf.data.Options()
        options.threading.private_threadpool_size = calls
        together = step.at_once(calls).apply(sample).window(self._size)
        self._many = iter(plain(together, intra_op).with_options(options))

    def measured(self, seconds: float, *, python: bool) -> tuple[float | None, float]:
        """Returns the speedup, None where elements take too long for it, and runnable threads.

        Args:
          seconds: that it may take.
          python: whether the runnable threads are worth waiting for a long element.
        """
        elements = max(self.calls, int(LEAST_ROUND_SECONDS / self._seconds))
        windows = -(-elements // self._size)
        made = -(-self.calls // self._size)  # while the other one ran
        if 2 * (2 * windows + made) * self._size * self._seconds > 2 * seconds:
            return None, self._read(self._many, 1)[1] if python else float(self.calls)
        end = time.perf_counter() + seconds
        ratios, runnable = [], []
        self._read(self._one, 1)
        while not ratios or time.perf_counter() < end:
            one, _ = self._read(self._one, windows)
            self._read(self._many, made)
            many, computing = self._read(self._many, windows)
            ratios.append(one / many)
            runnable.append(computing)
        return statistics.median(ratios), statistics.median(runnable)

    def _read(self, iterator: Any, windows: int) -> tuple[float, float]:
        """Returns the seconds that windows take, and the calls that could compute at once."""
        threads, start = threads_now(), time.perf_counter()
        cpu = time.process_time()
        for _ in range(windows):
            next(iterator)
        wall = time.perf_counter() - start
        if not threads:
            return wall, (time.process_time() - cpu) / wall
        return wall, sum(_busiest(threads, threads_now(), self.calls)) / wall


def _busiest(
    before: Mapping[str, tuple[float, float]], after: Mapping[str, tuple[float, float]], number: int
) -> list[float]:
    """Returns the seconds in which threads computed or queued, of those that computed most.

    The others hand elements on and read them: on a busy machine they queue, but compute little.
    """
    used = [
        (cpu - before.get(name, (0.0, 0.0))[0], queued - before.get(name, (0.0, 0.0))[1])
        for name, (cpu, queued) in after.items()
    ]
    return [cpu + queued for cpu, queued in sorted(used, reverse=True)[:number]]
