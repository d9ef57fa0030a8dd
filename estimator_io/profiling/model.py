"""How long a batch takes, from what its steps cost: a model of what runs beside what.

The steps of a pipeline are pulled by threads. A map with parallel calls, and a prefetch, hand
elements over between threads, so what stands before and behind them overlaps; all else is done by
one thread, one after the other. A batch takes as long as the most loaded of

* each thread: the sum over its steps of elements a batch x seconds an element;
* each parallel step: that, divided by its calls at once, or by what they were measured to bring
  (`Cost.speedup`) where that is less;
* the pool: the seconds of all parallel steps, divided by the pool's threads;
* the interpreter's lock: the seconds of the processor under it of all steps that call Python;
* the cores: the processor's seconds of all steps, divided by what the cores are worth.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from estimator_io.profiling.chain import AUTOTUNE, Chain, Step
from estimator_io.profiling.costs import Cost, elements_per_batch

__all__ = ["Cores", "Part", "calls_at_once", "parts_of"]

# From this share of its seconds on the lock is why more calls bring little.
MOSTLY = 0.4
# Calls that bring less than this part of what the cores are worth are held by something else.
POOR_SHARE = 0.7


@dataclasses.dataclass(frozen=True)
class Cores:
    """What there is to compute with.

    Attributes:
      number: of cores; TensorFlow's own pool has a thread for each.
      worth: how many times the work of one thread all of them do together.
    """

    number: int
    worth: float


@dataclasses.dataclass(frozen=True)
class Part:
    """One thing that a pipeline may wait for.

    Attributes:
      kind: "thread", "calls", "pool", "lock", "scaling" or "cores".
      seconds: that it takes for a batch.
      shares: (index of a step, seconds) that make them up, the largest first.
    """

    kind: str
    seconds: float
    shares: tuple[tuple[int, float], ...]


def calls_at_once(step: Step, chain: Chain) -> int | None:
    """Returns the calls of a step: None for one, -1 where TensorFlow chooses."""
    if step.calls is None and step.kind == "map" and chain.rewritten and not step.stateful:
        return AUTOTUNE  # tf.data makes it parallel by itself
    return step.calls


def parts_of(chain: Chain, costs: Sequence[Cost], cores: Cores) -> list[Part]:
    """Returns all that a batch may wait for, the most loaded first.

    Args:
      chain: the steps.
      costs: of each.
      cores: of the machine.
    """
    numbers = elements_per_batch(costs)
    seconds = [n * cost.seconds for n, cost in zip(numbers, costs, strict=True)]
    cpu = [n * cost.cpu for n, cost in zip(numbers, costs, strict=True)]
    parts = [
        *_threads(chain, seconds),
        *_calls(chain, costs, seconds, cores),
        _part("cores", {at: value / cores.worth for at, value in enumerate(cpu)}),
    ]
    pool = chain.threads or cores.number
    parallel = [at for at, step in enumerate(chain.steps) if _in_pool(step, chain)]
    parts.append(_part("pool", {at: seconds[at] / pool for at in parallel}))
    python = [at for at, step in enumerate(chain.steps) if step.python]
    parts.append(_part("lock", {at: cpu[at] * costs[at].locked for at in python}))
    return sorted((part for part in parts if part.shares), key=lambda part: -part.seconds)


def _in_pool(step: Step, chain: Chain) -> bool:
    """Whether the calls of a step hold threads of the pool while they wait.

    An interleave reads files with threads of its own, but functions that it calls run in the pool.
    """
    functions = step.kind == "map" or (step.kind == "interleave" and step.python)
    return functions and calls_at_once(step, chain) is not None


def _threads(chain: Chain, seconds: Sequence[float]) -> list[Part]:
    """Returns the threads that steps without calls of their own share."""
    parts: list[Part] = []
    thread: dict[int, float] = {}
    for at, step in enumerate(chain.steps):
        if step.kind == "prefetch" or _is_parallel(step, chain):
            parts.append(_part("thread", thread))
            thread = {}
        else:
            thread[at] = seconds[at]
    return [*parts, _part("thread", thread)]


def _is_parallel(step: Step, chain: Chain) -> bool:
    return step.kind in ("map", "interleave") and calls_at_once(step, chain) is not None


def _calls(
    chain: Chain, costs: Sequence[Cost], seconds: Sequence[float], cores: Cores
) -> list[Part]:
    """Returns the parallel steps, by the calls that they may have, and by what calls bring."""
    parts: list[Part] = []
    for at, (step, cost) in enumerate(zip(chain.steps, costs, strict=True)):
        calls = calls_at_once(step, chain)
        if calls is None or not _is_parallel(step, chain):
            continue
        most = _most_calls(step, calls)
        if most is not None:
            parts.append(_part("calls", {at: seconds[at] / most}))
        if cost.speedup is not None:
            held = step.python and cost.locked > MOSTLY
            few = "scaling" if cost.speedup < POOR_SHARE * cores.worth else "cores"
            parts.append(_part("lock" if held else few, {at: seconds[at] / cost.speedup}))
    return parts


def _most_calls(step: Step, calls: int) -> int | None:
    """Returns the calls that a step can have at once; None where only the pool bounds them."""
    cycle = step.size if step.kind == "interleave" and (step.size or 0) > 0 else None
    given = calls if calls > 0 else None
    known = [number for number in (cycle, given) if number is not None]
    return min(known) if known else None


def _part(kind: str, shares: dict[int, float]) -> Part:
    ordered = sorted(shares.items(), key=lambda item: -item[1])
    # One core, thread or lock is shared by all of the steps, so what they take adds up.
    return Part(kind, sum(shares.values()), tuple(ordered))
