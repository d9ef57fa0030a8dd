"""The pipeline as a whole, as it is written: its rate, its first batch, its memory over time."""

from __future__ import annotations

import dataclasses
import os
import time
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import Chain
from estimator_io.profiling.eagerly import eager_mode
from estimator_io.profiling.failing import told
from estimator_io.profiling.threads import start
from estimator_io.profiling.usage import Usage

__all__ = ["Flow", "Node", "run_flow"]

MEMORY_EVERY_SECONDS = 0.05
PATIENCE = 3.0


@dataclasses.dataclass(frozen=True)
class Node:
    """What TensorFlow knows of one iterator (`tf.data.experimental.get_model_proto`, 2.21).

    Attributes:
      name: of the iterator.
      elements: that it made.
      seconds: that it took for each, without what stands before it.
      parallelism: calls at once that AUTOTUNE chose; None where it has none.
      buffer: the size of its buffer; None where it has none.
      buffered: elements that lay in the buffer at the end.
    """

    name: str
    elements: int
    seconds: float
    parallelism: float | None
    buffer: float | None
    buffered: int


@dataclasses.dataclass(frozen=True)
class Flow:
    """A run of the whole pipeline.

    Attributes:
      batches: that came.
      seconds_per_batch: in the second half of the run, when AUTOTUNE has settled; None where
        fewer than two batches came.
      first_batch: seconds until the first one; None where none came in time.
      seconds: that the run took.
      usage: of the processor in the measured part, per batch.
      memory: (seconds, bytes of the process) over the run.
      waits: (begin, end) in seconds in which the consumer waited for a batch.
      nodes: TensorFlow's own model of the run.
    """

    batches: int
    seconds_per_batch: float | None
    first_batch: float | None
    seconds: float
    usage: Usage | None
    memory: tuple[tuple[float, int], ...]
    waits: tuple[tuple[float, float], ...]
    nodes: tuple[Node, ...] = ()


def run_flow(
    chain: Chain, seconds: float, step_seconds: float = 0.0, least_batches: int = 0
) -> Flow:
    """Reads batches for a while.

    Args:
      chain: the pipeline.
      seconds: how long.
      step_seconds: the length of a step that uses no processor; 0 is none.
      least_batches: for so many it goes on, for three times as long at most.
    """
    run = _Run(chain, seconds, step_seconds, least_batches)
    thread = start(run.work)
    memory = []
    began = time.perf_counter()
    most = seconds * (PATIENCE if least_batches else 1.2) + 0.5
    while thread.is_alive() and time.perf_counter() - began < most:
        memory.append((time.perf_counter() - began, _resident()))
        thread.join(MEMORY_EVERY_SECONDS)
    run.stop = True
    if run.error is not None:
        with told(chain.steps):
            raise run.error
    return run.flow(tuple(memory))


class _Run:
    def __init__(
        self, chain: Chain, seconds: float, step_seconds: float, least_batches: int
    ) -> None:
        self._least = least_batches
        self.stop = False
        self.error: Exception | None = None
        self._chain, self._seconds, self._step = chain, seconds, step_seconds
        self._waits: list[tuple[float, float]] = []
        self._half: tuple[int, Usage] | None = None
        self._end: tuple[int, Usage] | None = None
        self._nodes: tuple[Node, ...] = ()
        self._start = time.perf_counter()

    def work(self) -> None:
        try:
            with eager_mode():
                self._read()
        except Exception as error:
            self.error = error

    def _read(self) -> None:
        iterator = iter(self._chain.build())
        end = self._start + self._seconds
        half = self._start + self._seconds / 2
        while not self.stop:
            asked = time.perf_counter()
            if next(iterator, None) is None:
                break  # there is no element; the steps tell which one lets none through
            now = time.perf_counter()
            self._waits.append((asked - self._start, now - self._start))
            if self._half is None and now >= half:
                self._half = (len(self._waits), Usage.now())
            if now >= end and len(self._waits) >= self._least:
                break
            if self._step:
                time.sleep(self._step)
        self._end = (len(self._waits), Usage.now())
        self._nodes = _nodes(iterator)

    def flow(self, memory: tuple[tuple[float, int], ...]) -> Flow:
        waits = tuple(self._waits)
        usage = None
        if self._half and self._end and self._end[0] > self._half[0]:
            usage = self._end[1].since(self._half[1]).per(self._end[0] - self._half[0])
        return Flow(
            batches=len(waits),
            seconds_per_batch=_pace(waits, self._seconds),
            first_batch=waits[0][1] if waits else None,
            seconds=waits[-1][1] if waits else self._seconds,
            usage=usage,
            memory=memory,
            waits=waits,
            nodes=self._nodes,
        )


def _pace(waits: tuple[tuple[float, float], ...], seconds: float) -> float | None:
    """Returns the seconds of a batch in the second half, or over all if few came."""
    arrivals = [end for _, end in waits]
    late = [at for at in arrivals if at >= seconds / 2]
    chosen = late if len(late) >= 4 else arrivals[min(1, len(arrivals) - 1) :]
    if len(chosen) < 2:
        return None
    return (chosen[-1] - chosen[0]) / (len(chosen) - 1)


def _resident() -> int:
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return 0


def _nodes(iterator: Any) -> tuple[Node, ...]:
    ask = getattr(tf.data.experimental, "get_model_proto", None)
    if ask is None:
        return ()
    try:
        nodes = ask(iterator).nodes
    except Exception:  # the model is an extra, whose format TensorFlow does not promise
        return ()
    return tuple(_node(nodes[key]) for key in sorted(nodes))


def _node(node: Any) -> Node:
    values = {parameter.name: parameter.value for parameter in node.parameters}
    return Node(
        name=node.name,
        elements=int(node.num_elements),
        seconds=node.processing_time * 1e-9 / max(1, node.num_elements),
        parallelism=values.get("parallelism"),
        buffer=values.get("buffer_size"),
        buffered=int(node.buffered_elements),
    )
