"""Pictures decoded fast: JPEG at a fraction of its size, bytes until the batch stands."""

from __future__ import annotations

import tensorflow as tf

from estimator_io.ops.image import read_image


@tf.autograph.experimental.do_not_convert
def as_bytes(picture):
    """Rounds values in [0, 255], and what a filter overshot, to uint8."""
    return tf.saturate_cast(picture + 0.5, tf.uint8)


@tf.autograph.experimental.do_not_convert
def jpeg_scale(contents, *, size):
    """Returns the largest of 3, 2, 1, 0 so that the picture divided by 2^it still covers `size`.

    The JPEG library rounds up when it decodes at a fraction; int32 scalar.
    """
    shape = tf.io.extract_jpeg_shape(contents)[:2]
    fits = [tf.reduce_all((shape + (1 << n) - 1) // (1 << n) >= list(size)) for n in (1, 2, 3)]
    return tf.reduce_sum(tf.cast(fits, tf.int32))  # a smaller fraction never fits better


@tf.autograph.experimental.do_not_convert
def read_image_fast(path, *, size, channels, method):
    """Reads the picture `path` into uint8 [height, width, channels].

    JPEG files are decoded at 1/2, 1/4 or 1/8 of their size where that still covers `size`, with the
    integer transform that trades its last bits for speed. Other files are read by `read_image`.
    """
    contents = tf.io.read_file(path)
    start = tf.strings.substr(tf.strings.join([contents, b"\0\0\0"]), 0, 3)
    jpeg = tf.equal(start, b"\xff\xd8\xff")

    def decode(ratio):
        picture = tf.io.decode_jpeg(
            contents, channels=channels, ratio=ratio, dct_method="INTEGER_FAST"
        )
        return as_bytes(tf.image.resize(picture, size, method=method))

    def scaled():
        branches = [lambda ratio=ratio: decode(ratio) for ratio in (1, 2, 4, 8)]
        return tf.switch_case(jpeg_scale(contents, size=size), branches)

    def other():
        return as_bytes(read_image(path, size=size, channels=channels, method=method))

    picture = other() if channels == 4 else tf.cond(jpeg, scaled, other)
    return tf.ensure_shape(picture, [*size, channels])


@tf.autograph.experimental.do_not_convert
def image_row(path, *label, size, channels, method, fast):
    """Returns ({"image": uint8 picture}, label) for one file, or the features alone."""
    if fast:
        picture = read_image_fast(path, size=size, channels=channels, method=method)
    else:
        picture = as_bytes(read_image(path, size=size, channels=channels, method=method))
    features = {"image": picture}
    return (features, *label) if label else features


@tf.autograph.experimental.do_not_convert
def floats(features, *label):
    """Returns the features with "image" as float32, of one row or of a batch at once."""
    features = {**features, "image": tf.cast(features["image"], tf.float32)}
    return (features, *label) if label else features


@tf.autograph.experimental.do_not_convert
def image_row_of_floats(path, *label, size, channels, method):
    """Returns what `image_row` with fast=True does, as float32, for stages that work row by row."""
    row = image_row(path, *label, size=size, channels=channels, method=method, fast=True)
    return floats(*row) if label else floats(row)
