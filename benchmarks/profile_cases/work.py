"""The kinds of work that stages are loaded with: waiting, computing, and Python under its lock."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

ROWS, WIDTH = 512, 64


def rows() -> np.ndarray:
    return np.arange(ROWS * WIDTH, dtype=np.float32).reshape(ROWS, WIDTH)


def dataset() -> Any:
    return tf.data.Dataset.from_tensor_slices(rows())


def waits(seconds: float) -> Callable[[Any], Any]:
    """Returns a function that waits as for storage: it holds a thread and uses no core."""

    def wait(value: Any) -> Any:
        time.sleep(seconds)
        return value

    def stage(x: Any) -> Any:
        y = tf.numpy_function(wait, [x], x.dtype)
        y.set_shape(x.shape)
        return y

    return stage


def locked_row(value: Any) -> Any:
    """Computes for 3 ms in Python."""
    end = time.thread_time() + 3e-3
    while time.thread_time() < end:
        pass
    return value


def locked(seconds: float) -> Callable[[Any], Any]:
    """Returns a function of Python code that computes and never lets go of its lock."""

    def work(value: Any) -> Any:
        end = time.thread_time() + seconds
        while time.thread_time() < end:
            pass
        return value

    def stage(x: Any) -> Any:
        y = tf.numpy_function(work, [x], x.dtype)
        y.set_shape(x.shape)
        return y

    return stage


def computes(length: int) -> Callable[[Any], Any]:
    """Returns a function of TensorFlow's operations that computes in one thread."""

    def stage(x: Any) -> Any:
        total = tf.fill([length], tf.reduce_sum(x))
        for _ in range(4):
            total = tf.cumsum(total) * 1e-6
        return x + total[-1]

    return stage


def slow_file(seconds: float, length: int) -> Callable[[Any], Any]:
    """Returns a function that opens a "file": a stream whose every record waits."""
    wait = waits(seconds)

    def stage(_: Any) -> Any:
        numbers = tf.data.Dataset.range(length)
        return numbers.map(lambda n: wait(tf.fill([WIDTH], tf.cast(n, tf.float32))))

    return stage
