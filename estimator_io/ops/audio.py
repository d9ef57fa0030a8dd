"""Recordings: WAV files into float32 samples."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def is_pcm16_wav(contents):
    """Whether `contents` begins as a PCM16 WAV file does, and is as long as its header says."""
    size = tf.strings.length(contents)
    # substr refuses to begin behind the end, so a short file is measured against zeros.
    head = tf.strings.join([tf.strings.substr(contents, 0, 36), b"\0" * 36])
    riff = tf.equal(tf.strings.substr(head, 0, 4), b"RIFF")
    wave = tf.equal(tf.strings.substr(head, 8, 4), b"WAVE")
    said = tf.io.decode_raw(tf.strings.substr(head, 4, 4), tf.int32)[0]
    whole = tf.logical_and(size >= 44, said <= size - 8)
    # Notes may stand before the format; then decode_wav itself must tell.
    format_first = tf.equal(tf.strings.substr(head, 12, 4), b"fmt ")
    pcm16 = tf.logical_and(
        tf.equal(tf.strings.substr(head, 20, 2), b"\x01\x00"),
        tf.equal(tf.strings.substr(head, 34, 2), b"\x10\x00"),
    )
    known = tf.logical_or(tf.logical_not(format_first), pcm16)
    return tf.reduce_all([riff, wave, whole, known])


@tf.autograph.experimental.do_not_convert
def read_wav(path, *, length, sample_rate, channels):
    """Reads the PCM16 WAV file `path` into float32 samples in [-1, 1].

    Returns float32 [samples] for one channel, else [samples, channels]; `samples` is `length`,
    reached by cutting or by zeros at the end, or the file's own number where `length` is None.
    """
    contents = tf.io.read_file(path)
    check = tf.debugging.Assert(
        is_pcm16_wav(contents),
        [
            "Not a whole WAV file of 16-bit PCM samples:",
            path,
            "bytes",
            tf.strings.length(contents),
            "Expected: a RIFF WAVE header of format 1 with 16 bits, and as many bytes as it says."
            " Remove or convert the file, narrow the pattern, or give a parse function of your own"
            " to input_fn.",
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
