"""Pictures: JPEG, PNG, GIF (first frame) and BMP files into arrays of one size."""

from __future__ import annotations

import tensorflow as tf


@tf.autograph.experimental.do_not_convert
def read_image(path, *, size, channels, method):
    """Reads the picture `path` into float32 [height, width, channels] in [0, 255]."""
    contents = tf.io.read_file(path)
    head = tf.strings.substr(contents, 0, 8)
    magic = [b"\xff\xd8\xff.*", b"\x89PNG.*", b"GIF8.*", b"BM.*"]
    known = tf.reduce_any([tf.equal(tf.strings.substr(head, 0, len(m) - 2), m[:-2]) for m in magic])
    check = tf.debugging.Assert(
        known,
        [
            "Not a picture:",
            path,
            "bytes",
            tf.strings.length(contents),
            "Expected: a JPEG, PNG, GIF or BMP file. Remove the file, or narrow the pattern.",
        ],
    )
    with tf.control_dependencies([check]):
        contents = tf.identity(contents)
    picture = tf.io.decode_image(contents, channels=channels, expand_animations=False)
    picture.set_shape([None, None, channels])
    resized = tf.image.resize(picture, size, method=method)
    return tf.cast(resized, tf.float32)


@tf.autograph.experimental.do_not_convert
def image_element(path, *label, size, channels, method):
    """Returns ({"image": picture}, label) for one file, or the features alone."""
    features = {"image": read_image(path, size=size, channels=channels, method=method)}
    return (features, *label) if label else features
