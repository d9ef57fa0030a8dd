"""The three kinds of preparation, on real recordings, made as costly as a case asks for.

tf: TensorFlow operations read and decode a WAV file, then filter it again and again.
python: soundfile reads it inside a numpy_function, then Python code runs under the interpreter's
  lock.
latency: as python without the code, after a wait that stands for remote storage. The wait is
  simulated: it holds a thread, as a read over a network does, but no core.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import soundfile
import tensorflow as tf

__all__ = ["KINDS", "Preparation", "calibrated", "gain", "seconds_a_row"]

# Half a second at 8 kHz, and a power of two, as the filter's transform likes it.
SAMPLES = 4096


@dataclasses.dataclass(frozen=True)
class Preparation:
    """One kind of preparation at one cost.

    Attributes:
      kind: a key of `KINDS`.
      amount: how often the work is repeated on a row; for latency, seconds to wait.
    """

    kind: str
    amount: float

    @property
    def read(self) -> Callable[[Any, Any], tuple[Any, Any]]:
        """The function for the first map: (path, label) to (features, label)."""
        return functools.partial(KINDS[self.kind], amount=self.amount)


def gain(features: dict[str, Any], label: Any) -> tuple[dict[str, Any], Any]:
    """The second map: a random loudness, cheap, and different in each epoch."""
    return {"audio": features["audio"] * tf.random.uniform([], 0.5, 1.0)}, label


@tf.autograph.experimental.do_not_convert
def _read_tf(path: Any, label: Any, *, amount: float) -> tuple[Any, Any]:
    contents = tf.io.read_file(path)
    samples, _ = tf.audio.decode_wav(contents, desired_channels=1, desired_samples=SAMPLES)
    # Each round starts from the last one's result, so rounds cannot run side by side.
    _, samples = tf.while_loop(
        lambda done, _: done < round(amount),
        lambda done, signal: (done + 1, _filtered(signal)),
        (0, samples[:, 0]),
        parallel_iterations=1,
    )
    samples.set_shape([SAMPLES])
    return {"audio": samples}, label


def _filtered(signal: Any) -> Any:
    response = tf.constant(1.0 / (1.0 + np.linspace(0, 1, SAMPLES // 2 + 1)), tf.complex64)
    return tf.signal.irfft(tf.signal.rfft(signal) * response)


def _read_python(path: Any, label: Any, *, amount: float) -> tuple[Any, Any]:
    return _numpy_reader(path, label, functools.partial(_decode_and_count, rounds=round(amount)))


def _decode_and_count(path: bytes, rounds: int) -> np.ndarray:
    samples = _decode(path)
    signs = (samples[:128] > 0).tolist()
    for _ in range(rounds):
        sum(before != after for before, after in itertools.pairwise(signs))
    return samples


def _read_after_wait(path: Any, label: Any, *, amount: float) -> tuple[Any, Any]:
    return _numpy_reader(path, label, functools.partial(_wait_and_decode, seconds=amount))


def _wait_and_decode(path: bytes, seconds: float) -> np.ndarray:
    time.sleep(seconds)
    return _decode(path)


def _decode(path: bytes) -> np.ndarray:
    samples, _ = soundfile.read(path.decode(), frames=SAMPLES, fill_value=0.0, dtype="float32")
    return samples


def _numpy_reader(path: Any, label: Any, function: Callable[..., np.ndarray]) -> tuple[Any, Any]:
    samples = tf.numpy_function(function, [path], tf.float32)
    samples.set_shape([SAMPLES])
    return {"audio": samples}, label


KINDS: dict[str, Callable[..., tuple[Any, Any]]] = {
    "tf": _read_tf,
    "python": _read_python,
    "latency": _read_after_wait,
}
# Amounts to measure at: far enough apart for a straight line, and cheap.
_PROBES = {"tf": (0, 60), "python": (0, 300), "latency": (0.0, 0.004)}


def calibrated(kind: str, files: Sequence[str], *, row_seconds: float) -> Preparation:
    """Returns the preparation of `kind` that takes one thread `row_seconds` a row.

    The cost of two amounts is measured; the amount wanted lies on the line through both.
    """
    low, high = _PROBES[kind]
    base = seconds_a_row(Preparation(kind, low), files)
    slope = (seconds_a_row(Preparation(kind, high), files) - base) / (high - low)
    return Preparation(kind, max(0.0, (row_seconds - base) / slope))


def seconds_a_row(preparation: Preparation, files: Sequence[str], *, seconds: float = 0.6) -> float:
    """Returns the seconds that one thread takes for one row, the least of five passes.

    Work is timed by the CPU it uses, so that it costs the same beside a busy neighbour; waits are
    timed by the clock. Whatever disturbs a pass makes it longer, hence the least.
    """
    clock = time.perf_counter if preparation.kind == "latency" else time.process_time
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    rows = tf.data.Dataset.from_tensor_slices((list(files), [0] * len(files))).repeat()
    dataset = rows.map(preparation.read).map(gain).with_options(options)
    iterator = iter(dataset)
    next(iterator)
    return min(_pace(iterator, seconds / 5, clock) for _ in range(5))


def _pace(iterator: Any, seconds: float, clock: Callable[[], float]) -> float:
    start, rows = clock(), 0
    while clock() - start < seconds:
        next(iterator)
        rows += 1
    return (clock() - start) / rows
