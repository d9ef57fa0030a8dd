"""Recordings: WAV files into float32 samples."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def read_wav(path, *, length, sample_rate, channels):
    """Reads the PCM16 WAV file `path` into float32 samples in [-1, 1].

    Returns float32 [samples] for one channel, else [samples, channels]; `samples` is `length`,
    reached by cutting or by zeros at the end, or the file's own number where `length` is None.
    """
    contents = tf.io.read_file(path)
    head = tf.strings.substr(contents, 0, 12)
    padded = tf.strings.join([head, b"\0" * 12])  # substr refuses to begin behind the end
    is_wav = tf.logical_and(
        tf.equal(tf.strings.substr(padded, 0, 4), b"RIFF"),
        tf.equal(tf.strings.substr(padded, 8, 4), b"WAVE"),
    )
    check = tf.debugging.Assert(
        tf.logical_and(is_wav, tf.greater_equal(tf.strings.length(contents), 44)),
        [
            "Not a WAV file:",
            path,
            "bytes",
            tf.strings.length(contents),
            "starting with",
            head,
            "Expected: RIFF....WAVE and a header of 44 bytes. Remove the file, or narrow the"
            " pattern, or give a parse function of your own to input_fn.",
        ],
    )
    with tf.control_dependencies([check]):
        contents = tf.identity(contents)
    desired = -1 if length is None else length
    samples, rate = tf.audio.decode_wav(contents, desired_samples=desired)
    check = tf.debugging.Assert(
        tf.logical_and(tf.equal(rate, sample_rate), tf.equal(tf.shape(samples)[1], channels)),
        [
            "Mixed recordings:",
            path,
            "has (sample rate in Hz, channels)",
            rate,
            tf.shape(samples)[1],
            f"Expected: {sample_rate}, {channels}, as given, or as in the first file. Convert the"
            " file, or name its files apart.",
        ],
    )
    with tf.control_dependencies([check]):
        samples = tf.identity(samples)
    samples.set_shape([length, channels])
    return tf.squeeze(samples, 1) if channels == 1 else samples


@tf.autograph.experimental.do_not_convert
def audio_element(path, *label, length, sample_rate, channels, length_key=None):
    """Returns ({"audio": samples}, label) for one recording, or the features alone."""
    format_ = {"sample_rate": sample_rate, "channels": channels}
    if length_key is None:
        features = {"audio": read_wav(path, length=length, **format_)}
    else:
        samples = read_wav(path, length=None, **format_)
        own = tf.shape(samples)[0] if length is None else tf.minimum(tf.shape(samples)[0], length)
        if length is not None:
            padding = [[0, length - own]] + [[0, 0]] * (samples.shape.rank - 1)
            samples = tf.ensure_shape(tf.pad(samples[:own], padding), [length, *samples.shape[1:]])
        features = {"audio": samples, length_key: own}
    return (features, *label) if label else features
