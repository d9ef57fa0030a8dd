"""What the classifier looks at: log-magnitude spectrograms."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

__all__ = ["SCOPE", "log_spectrogram", "spectrogram_batch"]

# The name scope by which the trace tells this work from the model's.
SCOPE = "spectrogram"
FRAME = 256  # samples: 32 ms at 8 kHz
HOP = 128
FLOOR = 1e-3  # magnitude below which all is silence


def log_spectrogram(audio: Any) -> tf.Tensor:
    """Returns float32 [..., frames, FRAME / 2 + 1] of float32 [..., samples]."""
    with tf.name_scope(SCOPE):
        spectrum = tf.signal.stft(audio, frame_length=FRAME, frame_step=HOP)
        return tf.math.log(tf.abs(spectrum) + FLOOR)


def spectrogram_batch(features: Any, labels: Any) -> tuple[dict[str, tf.Tensor], Any]:
    """The batch_map of `audio_input_fn`: all spectrograms of a batch at once."""
    return {"spectrogram": log_spectrogram(features["audio"])}, labels
