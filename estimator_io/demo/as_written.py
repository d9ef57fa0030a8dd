"""The input_fn as people write it, for comparison: two maps around a shuffle of decoded audio."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.demo.features import log_spectrogram
from estimator_io.demo.readers import Reader

__all__ = ["input_fn"]


def input_fn(
    files: Sequence[str],
    labels: Sequence[int],
    *,
    reader: Reader,
    length: int,
    batch_size: int,
    epochs: int | None = None,
) -> Any:
    """Returns the tensors of the next batch: ({"spectrogram": [batch, frames, bins]}, [batch]).

    Nothing here is slowed down for the demo: TensorFlow's own rewrites are on, which run maps of
    pure TensorFlow operations in parallel and prefetch at the end.
    """
    dataset = tf.data.Dataset.from_tensor_slices((list(files), list(labels)))
    dataset = dataset.map(lambda path, label: (reader(path, length), label))
    dataset = dataset.shuffle(len(labels))
    dataset = dataset.map(lambda audio, label: ({"spectrogram": log_spectrogram(audio)}, label))
    dataset = dataset.batch(batch_size)
    dataset = dataset.repeat(epochs)
    iterator = tf.compat.v1.data.make_one_shot_iterator(dataset)
    return iterator.get_next()
