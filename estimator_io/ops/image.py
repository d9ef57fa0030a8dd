"""Pictures: JPEG, PNG, GIF (first frame) and BMP files into arrays of one size."""

from __future__ import annotations

import tensorflow as tf

# What whole files end with, and TensorFlow's decoders refuse to do without.
JPEG_END = b"\xff\xd9"
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


# What the last bytes of a whole file are, and TensorFlow's decoders refuse to do without.
JPEG_END = b"\xff\xd9"
PNG_END = b"\0\0\0\0IEND\xaeB`\x82"


@tf.autograph.experimental.do_not_convert
def checked_picture(path, contents):
    """Returns `contents`, or names the file that is no picture, or was cut short."""
    length = tf.strings.length(contents)
    kinds = (b"\xff\xd8\xff", b"\x89PNG", b"GIF8", b"BM")
    jpeg, png, gif, bmp = [tf.equal(tf.strings.substr(contents, 0, len(k)), k) for k in kinds]

    def ends_with(end):
        start = tf.maximum(length - len(end), 0)
        return tf.equal(tf.strings.substr(contents, start, len(end)), end)

    def look_closer():
        # Others may have appended bytes behind the end, without which no decoder does.
        def holds(end):
            return tf.size(tf.strings.split([contents], end).flat_values) > 1

        advice = "Remove the file, or narrow the pattern."
        found = [path, "bytes", length, "Expected:"]
        known = tf.debugging.Assert(
            jpeg | png | gif | bmp,
            ["Not a picture:", *found, f"a JPEG, PNG, GIF or BMP file. {advice}"],
        )
        whole = tf.debugging.Assert(
            tf.where(jpeg, holds(JPEG_END), tf.logical_not(png) | holds(PNG_END)),
            ["A picture that was cut short:", *found, f"a file up to its end. {advice}"],
        )
        with tf.control_dependencies([known, whole]):
            return tf.constant(True)

    whole = (jpeg & ends_with(JPEG_END)) | (png & ends_with(PNG_END)) | gif | bmp
    with tf.control_dependencies([tf.cond(whole, lambda: True, look_closer)]):
        return tf.identity(contents)


@tf.autograph.experimental.do_not_convert
def read_image(path, *, size, channels, method):
    """Reads the picture `path` into float32 [height, width, channels] in [0, 255]."""
    contents = checked_picture(path, tf.io.read_file(path))
    picture = tf.io.decode_image(contents, channels=channels, expand_animations=False)
    picture.set_shape([None, None, channels])
    resized = tf.image.resize(picture, size, method=method)
    return tf.cast(resized, tf.float32)


@tf.autograph.experimental.do_not_convert
def image_element(path, *label, size, channels, method):
    """Returns ({"image": picture}, label) for one file, or the features alone."""
    features = {"image": read_image(path, size=size, channels=channels, method=method)}
    return (features, *label) if label else features
