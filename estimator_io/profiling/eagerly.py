"""Runs pieces of a pipeline eagerly, in whatever mode the program is, and for a bounded time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import tensorflow as tf

from estimator_io.errors import ProfileError
from estimator_io.profiling.threads import start

__all__ = ["bounded", "cached", "eager_mode", "from_variant", "plain", "to_variant"]

T = TypeVar("T")


@contextmanager
def eager_mode() -> Iterator[None]:
    """Runs eagerly inside of it, also in a graph and where V2 behaviour is off."""
    from tensorflow.python.eager import context

    mode: Any = context.eager_mode()  # 2.15 declares it as a generator
    with mode:
        yield


def bounded(work: Callable[[], T], seconds: float, what: str) -> T:
    """Returns the result of `work`, for which it waits `seconds` at most.

    Raises:
      ProfileError: it took longer. Its thread ends by itself when what it waits for comes.
    """
    found: list[Any] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            with eager_mode():
                found.append(work())
        except BaseException as error:
            failed.append(error)

    start(run).join(seconds)
    if failed:
        raise failed[0]
    if not found:
        raise ProfileError(
            f"{what} gave nothing within {seconds:.0f} s. Expected: an element. It may wait for"
            " something, or drop everything (a filter); or give the profile more seconds."
        )
    return found[0]


def cached(dataset: Any) -> Any:
    """Returns a Dataset that keeps the elements of `dataset` in memory, as long as it is there.

    `Dataset.cache` would keep them for one iterator alone where V2 behaviour is off.
    """
    handle, deleter = tf.raw_ops.AnonymousMemoryCache()
    variant = tf.raw_ops.CacheDatasetV2(
        input_dataset=tf.data.experimental.to_variant(dataset),
        filename="",
        cache=handle,
        **dataset._flat_structure,
    )
    kept = tf.data.experimental.from_variant(variant, dataset.element_spec)
    kept._estimator_io_deleter = deleter  # it ends the memory, so it lives as long as the Dataset
    return kept


def plain(dataset: Any, intra_op: int | None = 1) -> Any:
    """Returns `dataset` without rewrites and tuning, so that what is timed is what is written.

    Args:
      dataset: to time.
      intra_op: threads within one operation. One is what TensorFlow's rewrites, which are off here,
        give to each pipeline; None leaves it to the runtime.
    """
    options = tf.data.Options()
    options.experimental_optimization.apply_default_optimizations = False
    options.autotune.enabled = False
    if intra_op is not None:
        options.threading.max_intra_op_parallelism = intra_op
    return dataset.with_options(options)


def to_variant(dataset: Any) -> Any:
    """Returns the tensor that TensorFlow's own operations know a Dataset by."""
    return tf.data.experimental.to_variant(dataset)


def from_variant(variant: Any, dataset: Any) -> Any:
    """Returns the Dataset of a tensor, with elements like those of `dataset`."""
    return tf.data.experimental.from_variant(variant, dataset.element_spec)
