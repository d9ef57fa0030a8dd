"""The cases: each a pipeline, the step it feeds, and what is wrong with it."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

import estimator_io
from benchmarks.profile_cases.work import (
    WIDTH,
    computes,
    dataset,
    locked,
    locked_row,
    rows,
    slow_file,
    waits,
)

MS = 1e-3
BATCH = 16


@dataclasses.dataclass(frozen=True)
class Case:
    """One pipeline with a known bottleneck.

    Attributes:
      name: of the case.
      target: makes what is profiled.
      step_seconds: of the step it feeds.
      verdict: that is right.
      stages: any of which is right.
      kind: "latency" or "cpu": what the bottleneck does.
      fixed: makes the pipeline as the first suggestion says, where a profile cannot try it.
    """

    name: str
    target: Callable[[], Any]
    step_seconds: float
    verdict: str
    stages: tuple[str, ...]
    kind: str = "latency"
    fixed: Callable[[], Any] | None = None


def _input_fn(**options: Any) -> Any:
    chosen = {"batch_size": BATCH, "seed": 1, **options}
    return estimator_io.input_fn(rows(), **chosen)


def _generator() -> Iterator[np.ndarray]:
    for number in range(256):
        time.sleep(4 * MS)
        yield np.full(WIDTH, number, np.float32)


def _generated() -> Any:
    spec = tf.TensorSpec([WIDTH], tf.float32)
    return tf.data.Dataset.from_generator(_generator, output_signature=spec).batch(BATCH)


def _files(number: int, seconds: float) -> Any:
    files = tf.data.Dataset.range(number)
    return files.flat_map(slow_file(seconds, 64)).batch(BATCH)


def _interleaved(calls: int | None, cycle: int, seconds: float) -> Any:
    files = tf.data.Dataset.range(16)
    reader = slow_file(seconds, 64)
    return files.interleave(reader, cycle_length=cycle, num_parallel_calls=calls).batch(BATCH)


def _pooled(data: Any, threads: int) -> Any:
    options = tf.data.Options()
    options.threading.private_threadpool_size = threads
    return data.with_options(options)


def _split_files() -> Any:
    data = tf.data.Dataset.range(8)
    reader = slow_file(4 * MS, 64)
    return _pooled(data.interleave(reader, cycle_length=8, num_parallel_calls=8).batch(BATCH), 10)


def _split_generators() -> Any:
    spec = tf.TensorSpec([WIDTH], tf.float32)

    def one(_: Any) -> Any:
        return tf.data.Dataset.from_generator(_generator, output_signature=spec)

    data = tf.data.Dataset.range(8).interleave(one, cycle_length=8, num_parallel_calls=8)
    return _pooled(data.batch(BATCH), 10)


def _in_processes() -> Any:
    return _input_fn(parse=locked_row, processes=2)


def _random(x: Any) -> Any:
    return computes(60_000)(x) + tf.random.uniform([])


LATENCY = [
    Case(
        "serial map, slow storage",
        lambda: dataset().map(waits(5 * MS)).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map",),
    ),
    Case(
        "serial map, slow storage, prefetch",
        lambda: dataset().map(waits(5 * MS)).batch(BATCH).prefetch(2),
        10 * MS,
        "input-bound",
        ("map",),
    ),
    Case(
        "two calls, slow storage",
        lambda: dataset().map(waits(10 * MS), num_parallel_calls=2).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map",),
    ),
    Case(
        "a cheap and a slow map",
        lambda: dataset().map(waits(1 * MS)).map(waits(8 * MS)).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map 2",),
    ),
    Case(
        "a slow and a cheap map",
        lambda: dataset().map(waits(8 * MS)).map(waits(1 * MS)).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map 1",),
    ),
    Case(
        "two equal maps",
        lambda: dataset().map(waits(4 * MS)).map(waits(4 * MS)).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map 1", "map 2"),
    ),
    Case(
        "serial map of batches",
        lambda: dataset().batch(BATCH).map(waits(60 * MS)),
        10 * MS,
        "input-bound",
        ("map",),
    ),
    Case(
        "files one after the other",
        lambda: _files(16, 4 * MS),
        10 * MS,
        "input-bound",
        ("flat_map",),
    ),
    Case(
        "one slow file",
        lambda: _files(1, 4 * MS),
        10 * MS,
        "input-bound",
        ("flat_map",),
        fixed=_split_files,
    ),
    Case(
        "serial interleave",
        lambda: _interleaved(None, 8, 4 * MS),
        10 * MS,
        "input-bound",
        ("interleave",),
    ),
    Case(
        "narrow interleave",
        lambda: _interleaved(2, 2, 8 * MS),
        10 * MS,
        "input-bound",
        ("interleave",),
    ),
    Case(
        "slow generator",
        _generated,
        10 * MS,
        "input-bound",
        ("flat_map",),
        fixed=_split_generators,
    ),
    Case(
        "slow filter",
        lambda: dataset().filter(lambda x: waits(3 * MS)(x)[0] >= 0).batch(BATCH),
        10 * MS,
        "input-bound",
        ("filter",),
    ),
    Case(
        "shuffle behind a slow map",
        lambda: dataset().map(waits(5 * MS)).shuffle(512).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map",),
    ),
    Case(
        "tiny shuffle behind a slow map",
        lambda: dataset().map(waits(5 * MS)).shuffle(2).batch(BATCH),
        10 * MS,
        "input-bound",
        ("map",),
    ),
    Case(
        "InputFn, parse waits, few threads",
        lambda: _input_fn(parse=waits(20 * MS), threads=4),
        10 * MS,
        "input-bound",
        ("parse",),
    ),
    Case(
        "InputFn, parse waits, one call",
        lambda: _input_fn(parse=waits(5 * MS), num_parallel_calls={"parse": 1}),
        10 * MS,
        "input-bound",
        ("parse",),
    ),
    Case(
        "InputFn, augment waits, one call",
        lambda: _input_fn(augment=waits(5 * MS), num_parallel_calls={"augment": 1}),
        10 * MS,
        "input-bound",
        ("augment",),
    ),
    Case(
        "InputFn, batch_map waits, one call",
        lambda: _input_fn(batch_map=waits(60 * MS), num_parallel_calls={"batch_map": 1}),
        10 * MS,
        "input-bound",
        ("batch_map",),
    ),
    Case(
        "InputFn, default threads, parse waits",
        lambda: _input_fn(parse=waits(30 * MS)),
        10 * MS,
        "input-bound",
        ("parse",),
    ),
    Case(
        "the step",
        lambda: dataset().map(waits(0.2 * MS)).batch(BATCH),
        80 * MS,
        "step-bound",
        ("map",),
    ),
    Case(
        "the step, InputFn",
        lambda: _input_fn(parse=lambda x: x * 2),
        60 * MS,
        "step-bound",
        ("parse", "source", "epochs", "shuffle", "read", "batch"),
    ),
    Case(
        "the step, parallel waiting",
        lambda: _input_fn(parse=waits(10 * MS), threads=20),
        60 * MS,
        "step-bound",
        ("parse",),
    ),
    Case(
        "balanced",
        lambda: dataset().batch(BATCH).map(waits(100 * MS)),
        101 * MS,
        "balanced",
        ("map",),
    ),
    Case(
        "balanced, InputFn",
        lambda: _input_fn(batch_map=waits(100 * MS), num_parallel_calls={"batch_map": 1}),
        101 * MS,
        "balanced",
        ("batch_map",),
    ),
]
CPU = [
    Case(
        "Python under its lock, serial",
        lambda: dataset().map(locked(3 * MS)).batch(BATCH),
        5 * MS,
        "input-bound",
        ("map",),
        "cpu",
        fixed=_in_processes,
    ),
    Case(
        "Python under its lock, four calls",
        lambda: dataset().map(locked(3 * MS), num_parallel_calls=4).batch(BATCH),
        5 * MS,
        "input-bound",
        ("map",),
        "cpu",
        fixed=_in_processes,
    ),
    Case(
        "costly pure map, made parallel by TensorFlow",
        lambda: dataset().map(computes(200_000)).batch(BATCH),
        1 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
    Case(
        "random map, left serial",
        lambda: dataset().map(_random).batch(BATCH),
        1 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
    Case(
        "many tiny calls",
        lambda: (
            tf.data.Dataset.from_tensor_slices(np.zeros((4096, 4), np.float32))
            .map(lambda x: x * 2 + 1)
            .batch(2048)
        ),
        1 * MS,
        "input-bound",
        ("map",),
        "cpu",
    ),
    Case(
        "oversized batches",
        lambda: (
            tf.data.Dataset.from_tensors(np.zeros((256, 1024), np.float32)).repeat(64).batch(128)
        ),
        1 * MS,
        "input-bound",
        ("batch",),
        "cpu",
    ),
    Case(
        "InputFn, costly parse",
        lambda: _input_fn(parse=computes(200_000)),
        1 * MS,
        "input-bound",
        ("parse",),
        "cpu",
    ),
]
CASES = [*LATENCY, *CPU]
