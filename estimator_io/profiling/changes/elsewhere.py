"""Work that leaves this process: Python functions in worker processes, or a tf.data service."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator

from estimator_io.profiling.changes.making import suggestion
from estimator_io.profiling.context import Measured
from estimator_io.profiling.report import Suggestion

__all__ = ["processes", "service"]

# What an interpreter with NumPy takes; TensorFlow is not loaded in a worker unless it is used.
PROCESS_BYTES = 60e6
MOST_WORKERS = 16


def processes(measured: Measured) -> Iterator[Suggestion]:
    """Yields: Python code that holds the interpreter's lock runs in worker processes."""
    cores = measured.machine.cores
    if cores < 2:
        return
    for at, _ in measured.parts[0].shares:
        step, cost = measured.chain.steps[at], measured.costs[at]
        if not step.python or step.kind != "map" or step.writes or cost.cpu < cost.waiting:
            continue
        if measured.parts[0].kind not in ("lock", "thread", "calls", "pool"):
            continue
        moved = dataclasses.replace(step, python=False, calls=cores)
        chain = measured.chain.with_step(at, moved)
        costs = list(measured.costs)
        costs[at] = dataclasses.replace(cost, speedup=None, locked=0.0)
        stage = step.stage if measured.input_fn is not None else "parse"
        yield suggestion(
            measured,
            "processes",
            f"{stage}=<the Python function itself>, processes={cores}"
            + ("" if measured.input_fn else " of estimator_io.input_fn, or of accelerate"),
            f"{step.stage} is Python code that holds the interpreter's lock, so threads do not"
            f" help; {cores} processes share it out over the cores.",
            chain.with_threads(max(chain.threads or 0, cores + 2)),
            costs,
            step=step,
            memory_bytes=PROCESS_BYTES * cores,
            tried=False,
        )


def service(measured: Measured) -> Iterator[Suggestion]:
    """Yields: workers of a tf.data service on other hosts, where the cores of this one are busy."""
    if any(step.python or step.writes for step in measured.chain.steps):
        return  # neither Python functions nor variables travel to other processes
    cores = next((part for part in measured.parts if part.kind == "cores"), None)
    if cores is None or cores.seconds < 0.7 * measured.parts[0].seconds:
        return
    target = measured.step_seconds or measured.seconds_per_batch / 4
    workers = max(2, min(MOST_WORKERS, math.ceil(measured.seconds_per_batch / target)))
    yield suggestion(
        measured,
        "service",
        f'service="grpc://<host>:<port>" with {workers} workers like this machine'
        + ("" if measured.input_fn else " (tf.data.experimental.service.distribute)"),
        f"All {measured.machine.cores} cores are busy preparing batches; more than that takes more"
        " machines.",
        measured.chain,
        measured.costs,
        tried=False,
        seconds=measured.seconds_per_batch / workers,
        memory_bytes=0.0,
    )
