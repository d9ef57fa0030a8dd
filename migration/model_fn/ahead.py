"""How far the Estimator may go ahead of the loop of Keras."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

__all__ = ["Block", "StepsAhead", "Turn"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback
_AT_STEPS = ("on_batch_begin", "on_batch_end", "on_train_batch_begin", "on_train_batch_end")


class StepsAhead:
    """Says before each step how many may follow it, while Keras is busy with its loop.

    Only where nothing can look at the model between two steps: an input function gives the batches,
    no callback has anything to do at a step, and it is known when the epoch ends.

    Args:
      arguments: of `fit`.
      in_graph: whether an input function gives the batches.
    """

    def __init__(self, arguments: Mapping[str, Any], in_graph: bool) -> None:
        steps = arguments.get("steps_per_epoch")
        alone = in_graph and isinstance(steps, int) and not _looking(arguments.get("callbacks"))
        self._steps = steps if alone and steps else 0
        self._taken = 0

    @property
    def any(self) -> bool:
        """Whether steps may follow at all."""
        return self._steps > 0

    def next(self) -> int:
        """Returns how many steps may follow the next one before Keras asks for them."""
        if not self._steps:
            return 0
        self._taken += 1
        return -self._taken % self._steps


class Turn:
    """The steps that one turn of the loop of Keras 2 takes: its `steps_per_execution`.

    While that loop turns, the Estimator's thread cannot have Python's lock: with turns of one step
    fit reached 0.80 of the Estimator's rate at 0.4 ms a step, with turns of a block 0.95
    (benchmarks/model_fn_speed.py). Keras 2 calls `numpy` before each turn, and `assign` around the
    last one of an epoch, which may be shorter. Keras 3 has no such counter, and needs none: 1.01.

    Attributes:
      steps: of the current turn, or of the next one.
    """

    def __init__(self) -> None:
        self.steps = 1

    def numpy(self) -> np.int64:
        """Returns `steps`."""
        return np.int64(self.steps)

    def assign(self, steps: Any) -> None:
        """Sets `steps`."""
        self.steps = int(steps)

    @contextlib.contextmanager
    def of_one_step(self) -> Iterator[None]:
        """Turns inside take one step, as those of an evaluation do."""
        before, self.steps = self.steps, 1
        try:
            yield
        finally:
            self.steps = before


def _looking(callbacks: Any) -> bool:
    """Returns whether any of the callbacks that `fit` was given may do something at a step."""
    if not callbacks:
        return False
    if not isinstance(callbacks, (list, tuple)):
        callbacks = [callbacks]
    return any(
        name in vars(callback)
        or getattr(type(callback), name, None) is not getattr(_Callback, name)
        for callback in callbacks
        for name in _AT_STEPS
    )


class Block:
    """How many steps are handed over at once: as many as take `seconds`, but not above `most`.

    To wake the other thread costs little beside a block, and nobody notices a loop that is behind
    by two of them.

    Args:
      clock: gives seconds.

    Attributes:
      steps: of the next block.
    """

    seconds = 0.02
    most = 64

    def __init__(self, clock: Callable[[], float] = time.perf_counter) -> None:
        self.steps = 1
        self._clock = clock
        self._last: float | None = None

    def took(self, steps: int) -> None:
        """Notes that the results of `steps` steps have come."""
        now, last = self._clock(), self._last
        self._last = now
        if last is None:  # the time of the first ones is that of the graph
            return
        fitting = int(self.seconds * steps / max(now - last, 1e-9))
        self.steps = max(1, min(self.most, fitting, 2 * self.steps))
