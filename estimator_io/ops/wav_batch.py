"""Recordings, a batch at once: 16-bit samples until the batch stands, one cast for all of them."""

from __future__ import annotations

import tensorflow as tf

from estimator_io.ops.audio import read_wav


@tf.autograph.experimental.do_not_convert
def wav_bytes(path, *label):
    """Returns (path, the bytes of the file, label): the part of reading that a row needs alone."""
    return (path, tf.io.read_file(path), *label)


@tf.autograph.experimental.do_not_convert
def sample_bytes(contents, *, head, channels):
    """Returns the bytes of samples in each of `contents` (string [rows]): int32 [rows].

    It is 0 where a file is not whole, or does not begin as `head` does, sizes apart.
    """
    size = tf.strings.length(contents)
    # substr refuses to begin behind the end, so a short file is measured against zeros.
    own = tf.strings.join([tf.strings.substr(contents, 0, len(head)), b"\0" * len(head)])
    same = tf.equal(tf.strings.substr(own, 0, 4), head[:4])
    same &= tf.equal(tf.strings.substr(own, 8, len(head) - 12), head[8:-4])
    said, samples = (
        tf.io.decode_raw(tf.strings.substr(own, at, 4), tf.int32, fixed_length=4)[:, 0]
        for at in (4, len(head) - 4)
    )
    same &= (said >= 0) & (said <= size - 8)
    same &= (samples > 0) & (samples <= size - len(head))
    same &= tf.equal(samples % (2 * channels), 0)
    return tf.where(same, samples, 0)


@tf.autograph.experimental.do_not_convert
def read_wavs(paths, *, length, sample_rate, channels):
    """Returns the samples of the files `paths` (string [rows]), one file after the other.

    Returns float32 [rows, samples · channels], padded with zeros to the longest.
    """

    def one(path):
        samples = read_wav(path, length=length, sample_rate=sample_rate, channels=channels)
        return tf.reshape(samples, [-1])

    rows = tf.map_fn(one, paths, fn_output_signature=tf.RaggedTensorSpec([None], tf.float32))
    return rows.to_tensor()


@tf.autograph.experimental.do_not_convert
def audio_batch(paths, contents, *labels, head, length, sample_rate, channels):
    """Returns ({"audio": samples}, labels) of a batch of files, or the features alone.

    Args:
      paths: string [rows].
      contents: the bytes of the files: string [rows].
      *labels: one a row, if there are any.
      head: what stands before the samples of the first file. Files that begin alike, sizes apart,
        are cut from their bytes; a batch that holds another one is read by tf.audio.decode_wav,
        which gives the same values.
      length: samples a recording is cut or padded to; None pads to the longest of the batch.
      sample_rate: in Hz.
      channels: of every file.
    """
    sizes = sample_bytes(contents, head=head, channels=channels)
    plain = tf.reduce_all(sizes > 0)

    def cut():
        most = tf.reduce_max(sizes) if length is None else 2 * channels * length
        raw = tf.strings.substr(contents, tf.fill(tf.shape(sizes), len(head)), sizes)
        samples = tf.io.decode_raw(raw, tf.int16, fixed_length=most)
        return tf.cast(samples, tf.float32) * (1 / 32768)

    def decode():
        return read_wavs(paths, length=length, sample_rate=sample_rate, channels=channels)

    samples = tf.cond(plain, cut, decode)
    shape = [-1 if length is None else length] + ([] if channels == 1 else [channels])
    samples = tf.reshape(samples, tf.concat([tf.shape(paths), shape], 0))
    samples.set_shape([paths.shape[0], length] + ([] if channels == 1 else [channels]))
    features = {"audio": samples}
    return (features, *labels) if labels else features
