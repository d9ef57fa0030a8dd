"""Readers of one WAV file as scripts have them: in TensorFlow operations, or in Python."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import CompatibilityError

__all__ = ["Reader", "python_reader", "read_with_tensorflow"]

Reader = Callable[[Any, int], Any]


def read_with_tensorflow(path: Any, length: int) -> tf.Tensor:
    """Returns the samples of the WAV file `path`, cut or padded: float32 [length]."""
    contents = tf.io.read_file(path)
    audio, _ = tf.audio.decode_wav(contents, desired_channels=1, desired_samples=length)
    return audio[:, 0]


def python_reader() -> tuple[str, Reader]:
    """Returns (library, reader) of the first library at hand: soundfile, else SciPy.

    Raises:
      CompatibilityError: neither is installed.
    """
    if importlib.util.find_spec("soundfile"):
        return "soundfile", _in_python(_read_with_soundfile)
    if importlib.util.find_spec("scipy"):
        return "scipy", _in_python(_read_with_scipy)
    raise CompatibilityError(
        "The script with a reader in Python needs soundfile or SciPy, and neither is installed."
        " Run: pip install 'estimator-io[demo]'"
    )


def _in_python(read: Callable[[bytes], np.ndarray]) -> Reader:
    def reader(path: Any, length: int) -> tf.Tensor:
        def padded(name: bytes) -> np.ndarray:
            samples = read(name)[:length]
            return np.pad(samples, (0, length - len(samples)))

        audio = tf.numpy_function(padded, [path], tf.float32)
        audio.set_shape([length])
        return audio

    return reader


def _read_with_soundfile(name: bytes) -> np.ndarray:
    import soundfile

    samples, _ = soundfile.read(os.fsdecode(name), dtype="float32")
    return samples


def _read_with_scipy(name: bytes) -> np.ndarray:
    from scipy.io import wavfile

    _, samples = wavfile.read(os.fsdecode(name))
    return samples.astype(np.float32) / 32768
