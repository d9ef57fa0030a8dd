"""What the input workers did, from TensorFlow's own profiler: nothing is added to a pipeline.

The profiler slows TensorFlow by a tenth or two, so it runs over a few steps only, and those are
left out of the figures.
"""

from __future__ import annotations

import contextlib
import dataclasses
import tempfile
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.compat.profiles import profiles_in
from estimator_io.demo.features import SCOPE

__all__ = ["Activity", "Tracer"]

READER_TYPES = ("ReadFile", "DecodeWav", "PyFunc")
STEP_EVENT = "demo_step"  # what a step is called in the trace, to give both clocks one zero


@dataclasses.dataclass(frozen=True)
class Activity:
    """What was done when: float [n, 2] of begins and ends, in seconds since the epoch.

    Attributes:
      read: reading and decoding of recordings, over all threads.
      spectrogram: making of spectrograms, likewise.
    """

    read: np.ndarray
    spectrogram: np.ndarray


class Tracer:
    """A watcher of steps that traces the steps from `first` up to `last`, this one not included.

    Attributes:
      seconds: what starting and stopping the profiler cost, which is no part of a run.
    """

    def __init__(self, first: int, last: int) -> None:
        self.seconds = 0.0
        self._first = first
        self._last = last
        self._folder = tempfile.TemporaryDirectory(prefix="estimator-io-demo-trace-")
        self._running = False
        self._step: Any = None
        self._begins: list[float] = []

    def __enter__(self) -> Tracer:
        """Returns the tracer; the profiler starts at its first step."""
        return self

    def __exit__(self, *_: object) -> None:
        """Stops the profiler, if a failed run left it on, and removes its files."""
        if self._running:
            self._stop()
        self._folder.cleanup()

    def before_step(self, step: int) -> None:
        """Starts the profiler before the first step to trace."""
        if step == self._first:
            self._start()
        if self._running:
            self._step = tf.profiler.experimental.Trace(STEP_EVENT)
            self._begins.append(time.time())
            self._step.__enter__()

    def after_step(self, step: int) -> None:
        """Stops it after the last one."""
        if self._running:
            self._step.__exit__(None, None, None)
        if self._running and step + 1 >= self._last:
            self._stop()

    def activity(self) -> Activity:
        """Returns what the trace holds; call it before the tracer is left."""
        found: dict[str, list[tuple[float, float]]] = {"read": [], "spectrogram": [], "step": []}
        for kind, begin, end in self._events():
            found[kind].append((begin, end))
        steps = [begin for begin, _ in sorted(found.pop("step"))]
        pairs = list(zip(self._begins, steps, strict=False))
        zero = float(np.median([here - there for here, there in pairs])) if pairs else 0.0
        return Activity(
            **{kind: np.reshape(sorted(spans), (-1, 2)) + zero for kind, spans in found.items()}
        )

    def _start(self) -> None:
        with self._on_the_bill():
            options = tf.profiler.experimental.ProfilerOptions(
                host_tracer_level=2, python_tracer_level=0, device_tracer_level=0
            )
            tf.profiler.experimental.start(self._folder.name, options=options)
            self._running = True

    def _stop(self) -> None:
        with self._on_the_bill():
            self._running = False
            tf.profiler.experimental.stop()

    @contextlib.contextmanager
    def _on_the_bill(self) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.seconds += time.perf_counter() - began

    def _events(self) -> Iterator[tuple[str, float, float]]:
        """Yields (kind, begin, end) of what is of interest, in seconds of the trace's clock."""
        for space in profiles_in(self._folder.name):
            for plane in space.planes:
                kinds = {
                    key: kind
                    for key, metadata in plane.event_metadata.items()
                    if (kind := _kind(metadata.name)) is not None
                }
                for line in plane.lines:
                    for event in line.events:
                        if kind := kinds.get(event.metadata_id):
                            begin = line.timestamp_ns * 1e-9 + event.offset_ps * 1e-12
                            yield kind, begin, begin + event.duration_ps * 1e-12


def _kind(event: str) -> str | None:
    """Returns what an event of the trace stands for; operations are called "name:type"."""
    name, _, operation = event.rpartition(":")
    if event == STEP_EVENT:
        return "step"
    if operation in READER_TYPES:
        return "read"
    if f"{SCOPE}/" in name:
        return "spectrogram"
    return None
