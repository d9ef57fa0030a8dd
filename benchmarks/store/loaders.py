"""The loaders: each returns a function that reads one epoch in random order and counts its rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

import estimator_io
from benchmarks.store.pictures import SIDE

__all__ = [
    "Epoch",
    "grain_loader",
    "keras_loader",
    "parse_of",
    "store_input_fn",
    "tf_data",
    "torch",
]

BATCH = 64
WORKERS = 2
Epoch = Callable[[], int]


def parse_of(dtype: str) -> Callable[[Any], Any]:
    """Returns what decodes and resizes a picture, to uint8 or to float32 in [0, 1]."""

    def parse(path: Any) -> Any:
        picture = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        picture = tf.image.resize(picture, (SIDE, SIDE))
        if dtype == "uint8":
            return tf.cast(tf.round(picture), tf.uint8)
        return picture / 255.0

    return parse


def count(batches: Any) -> int:
    """Returns the rows of all batches, each of which is looked at."""
    rows = 0
    for batch in batches:
        rows += int(batch.shape[0])
    return rows


def store_input_fn(files: Sequence[str], dtype: str, cache: Any, **options: Any) -> Any:
    """Returns an InputFn of one shuffled epoch."""
    options = {"batch_size": BATCH, "epochs": 1, "seed": 1, **options}
    return estimator_io.input_fn(list(files), parse=parse_of(dtype), cache=cache, **options)


def tf_data(files: Sequence[str], dtype: str) -> Epoch:
    """Hand-tuned tf.data without a cache, shuffled by file name."""
    dataset = (
        tf.data.Dataset.from_tensor_slices(list(files))
        .shuffle(len(files))
        .map(parse_of(dtype), num_parallel_calls=tf.data.AUTOTUNE)
        .batch(BATCH)
        .prefetch(tf.data.AUTOTUNE)
    )
    return lambda: count(dataset)


class _Pictures:
    """What torch and Grain index into."""

    def __init__(self, files: Sequence[str], dtype: str) -> None:
        self._files = list(files)
        self._dtype = dtype

    def __len__(self) -> int:
        return len(self._files)

    def __getitem__(self, at: Any) -> np.ndarray:
        return _decoded(self._files[int(at)], self._dtype)


def _decoded(file: str, dtype: str) -> np.ndarray:
    from PIL import Image

    with Image.open(file) as picture:
        pixels = np.asarray(picture.resize((SIDE, SIDE), Image.Resampling.BILINEAR))
    return pixels if dtype == "uint8" else pixels.astype(np.float32) / 255.0


def torch(files: Sequence[str], dtype: str) -> Epoch:
    """torch's DataLoader with PIL in 2 workers, which live on between epochs."""
    import torch.utils.data as data

    pictures: Any = _Pictures(files, dtype)
    loader = data.DataLoader(
        pictures, BATCH, shuffle=True, num_workers=WORKERS, persistent_workers=True
    )
    return lambda: count(loader)


def grain_loader(files: Sequence[str], dtype: str) -> Epoch:
    """Grain with PIL, in 2 threads."""
    import grain.python as grain

    pictures: Any = _Pictures(files, dtype)
    options = grain.ReadOptions(num_threads=WORKERS, prefetch_buffer_size=4 * BATCH)
    batches = grain.MapDataset.source(pictures).shuffle(seed=1).batch(BATCH)
    return lambda: count(batches.to_iter_dataset(options))


def keras_loader(files: Sequence[str], dtype: str) -> Epoch:
    """A keras PyDataset with PIL, in 2 worker threads of Keras's own enqueuer."""
    import keras
    from keras.src.trainers.data_adapters.py_dataset_adapter import OrderedEnqueuer

    class Batches(keras.utils.PyDataset):
        def __init__(self) -> None:
            super().__init__(workers=WORKERS, max_queue_size=8)

        def __len__(self) -> int:
            return -(-len(files) // BATCH)

        def __getitem__(self, index: int) -> np.ndarray:
            part = files[index * BATCH : (index + 1) * BATCH]
            return np.stack([_decoded(file, dtype) for file in part])

    def epoch() -> int:
        queue = OrderedEnqueuer(Batches(), shuffle=True)
        queue.start()
        batches = queue.get()
        try:
            return sum(len(next(batches)) for _ in range(-(-len(files) // BATCH)))
        finally:
            queue.stop()

    return epoch
