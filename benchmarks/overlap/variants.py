"""The same training input, written four ways, and the parts that the limit is measured by.

TensorFlow's own rewrites stay on in all of them, as users have them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

import estimator_io
from benchmarks.overlap.cases import Case
from benchmarks.overlap.preparation import SAMPLES, Preparation, gain

__all__ = ["alone", "of", "ready"]

InputFunction = Callable[..., Any]


def of(case: Case) -> dict[str, Callable[..., InputFunction]]:
    """Returns what makes each variant's input_fn from files, labels, preparation, batch size."""
    return {
        "as_written": functools.partial(as_written, shuffle=case.shuffle),
        "with_prefetch": functools.partial(as_written, shuffle=case.shuffle, prefetch=True),
        "hand_tuned": hand_tuned,
        "library": library,
    }


def as_written(
    files: Sequence[str],
    labels: Sequence[int],
    preparation: Preparation,
    batch_size: int,
    *,
    shuffle: str = "rows",
    prefetch: bool = False,
) -> InputFunction:
    """Returns the input_fn that most scripts have.

    Args:
      files: paths of the recordings.
      labels: one a file.
      preparation: what the first map does.
      batch_size: rows a batch.
      shuffle: "rows" shuffles behind the first map, as scripts do; "names" before it.
      prefetch: whether the one line that everybody is told to add stands at the end.
    """

    def input_fn() -> Any:
        dataset = tf.data.Dataset.from_tensor_slices((list(files), list(labels)))
        if shuffle == "names":
            dataset = dataset.shuffle(len(labels))
        dataset = dataset.map(preparation.read)
        if shuffle == "rows":
            dataset = dataset.shuffle(len(labels))
        dataset = dataset.map(gain)
        dataset = dataset.batch(batch_size)
        dataset = dataset.repeat()
        if prefetch:
            dataset = dataset.prefetch(1)
        return tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()

    return input_fn


def hand_tuned(
    files: Sequence[str], labels: Sequence[int], preparation: Preparation, batch_size: int
) -> InputFunction:
    """Returns tf.data in the order of the public guides, every stage with AUTOTUNE."""

    def input_fn() -> tf.data.Dataset:
        dataset = tf.data.Dataset.from_tensor_slices((list(files), list(labels)))
        dataset = dataset.shuffle(len(labels)).repeat()
        dataset = dataset.map(preparation.read, num_parallel_calls=tf.data.AUTOTUNE)
        dataset = dataset.map(gain, num_parallel_calls=tf.data.AUTOTUNE)
        return dataset.batch(batch_size).prefetch(tf.data.AUTOTUNE)

    return input_fn


def library(
    files: Sequence[str], labels: Sequence[int], preparation: Preparation, batch_size: int
) -> InputFunction:
    """Returns estimator_io's input function with its default options."""
    return estimator_io.input_fn(
        list(files),
        labels=list(labels),
        parse=preparation.read,
        augment=gain,
        batch_size=batch_size,
    )


def alone(
    files: Sequence[str], preparation: Preparation, batch_size: int, *, calls: int
) -> InputFunction:
    """Returns the preparation with a fixed number of calls at once and nothing else to tune."""

    def input_fn() -> tf.data.Dataset:
        options = tf.data.Options()
        options.threading.private_threadpool_size = calls
        options.autotune.enabled = False
        dataset = tf.data.Dataset.from_tensor_slices((list(files), [0] * len(files))).repeat()
        dataset = dataset.map(preparation.read, num_parallel_calls=calls)
        return dataset.map(gain).batch(batch_size).prefetch(2).with_options(options)

    return input_fn


def ready(batch_size: int) -> InputFunction:
    """Returns an input_fn whose batch is there already, so that only the step takes time."""

    def input_fn() -> tf.data.Dataset:
        batch = {"audio": tf.zeros([batch_size, SAMPLES])}, tf.zeros([batch_size], tf.int32)
        return tf.data.Dataset.from_tensors(batch).repeat()

    return input_fn
