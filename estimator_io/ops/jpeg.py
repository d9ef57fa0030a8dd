"""Pictures decoded fast: JPEG at a fraction of its size, bytes until the batch stands."""

from __future__ import annotations

import tensorflow as tf

from estimator_io.ops.image import checked_picture, read_image


@tf.autograph.experimental.do_not_convert
def as_bytes(picture, *, method):
    """Rounds what `method` made of bytes to uint8."""
    if method in ("bilinear", "nearest", "area"):  # between what they were made of
        return tf.cast(picture + 0.5, tf.uint8)
    return tf.saturate_cast(picture + 0.5, tf.uint8)


@tf.autograph.experimental.do_not_convert
def jpeg_scale(contents, *, size):
    """Returns the largest of 3, 2, 1, 0 so that the picture divided by 2^it still covers `size`.

    The JPEG library rounds up when it decodes at a fraction; int32 scalar.
    """
    shape = tf.io.extract_jpeg_shape(contents)[:2]
    divisors = tf.constant([[2], [4], [8]])
    covers = tf.reduce_all((shape + divisors - 1) // divisors >= list(size), 1)
    return tf.reduce_sum(tf.cast(covers, tf.int32))  # a smaller fraction never covers more


@tf.autograph.experimental.do_not_convert
def read_image_fast(path, *, size, channels, method):
    """Reads the picture `path` into uint8 [height, width, channels].

    JPEG files are decoded at 1/2, 1/4 or 1/8 of their size where that still covers `size`, with the
    integer transform that trades its last bits for speed. Other files are read by `read_image`.
    """
    contents = tf.io.read_file(path)
    start = tf.strings.substr(tf.strings.join([contents, b"\0\0\0"]), 0, 3)
    jpeg = tf.equal(start, b"\xff\xd8\xff")

    def scaled():
        whole = checked_picture(path, contents)
        decoders = [
            lambda ratio=ratio: tf.io.decode_jpeg(
                whole, channels=channels, ratio=ratio, dct_method="INTEGER_FAST"
            )
            for ratio in (1, 2, 4, 8)
        ]
        decoded = tf.switch_case(jpeg_scale(whole, size=size), decoders)
        return as_bytes(tf.image.resize(decoded, size, method=method), method=method)

    def other():
        whole = read_image(path, size=size, channels=channels, method=method)
        return as_bytes(whole, method=method)

    picture = other() if channels == 4 else tf.cond(jpeg, scaled, other)
    return tf.ensure_shape(picture, [*size, channels])


@tf.autograph.experimental.do_not_convert
def image_row(path, *label, size, channels, method, fast):
    """Returns ({"image": uint8 picture}, label) for one file, or the features alone."""
    if fast:
        picture = read_image_fast(path, size=size, channels=channels, method=method)
    else:
        exact = read_image(path, size=size, channels=channels, method=method)
        picture = as_bytes(exact, method=method)
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
