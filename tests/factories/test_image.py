"""image_input_fn against Pillow and TensorFlow's own decoders, and what it refuses."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError
from tests.conftest import DRAWINGS

FILES = sorted(str(path) for path in DRAWINGS.glob("*/*.jpg"))[:6]


@pytest.mark.parametrize("how", ["eager", "graph"])
def test_pictures_are_resized_to_one_size_in_the_range_of_bytes(draw, how):
    fn = estimator_io.image_input_fn(FILES, size=(20, 30), batch_size=6)
    ((features, labels),) = draw(lambda: fn("eval"), how)
    assert features["image"].shape == (6, 20, 30, 3)
    for picture, label, path in zip(features["image"], labels, FILES, strict=True):
        decoded = tf.io.decode_jpeg(tf.io.read_file(path), channels=3)
        np.testing.assert_array_equal(picture, tf.image.resize(decoded, (20, 30)))
        assert fn.class_names[label] == path.split("/")[-2]


@pytest.mark.parametrize("kind", ["png", "bmp", "gif"])
def test_other_formats_keep_their_pixels(draw, tmp_path, kind):
    Image = pytest.importorskip("PIL.Image", reason="Pillow writes the reference")  # noqa: N806
    pixels = (np.arange(4 * 5 * 3).reshape(4, 5, 3) * 4).astype(np.uint8)
    if kind == "gif":
        pixels[:] = pixels[:1, :1]  # GIF has a palette; one colour survives it
    path = tmp_path / f"x.{kind}"
    Image.fromarray(pixels).save(path)
    fn = estimator_io.image_input_fn(path, size=(4, 5), method="nearest", batch_size=1)
    ((features, _),) = draw(lambda: fn("eval"))
    np.testing.assert_array_equal(features["image"][0], pixels)
    assert features["image"].dtype == np.float32


def test_grey_has_one_channel():
    fn = estimator_io.image_input_fn(FILES, size=(8, 8), channels=1, batch_size=2)
    assert fn.element_spec[0]["image"].shape.as_list() == [None, 8, 8, 1]


@pytest.mark.parametrize("content", [b"", b"GI", b"%PDF-1.4 no picture"])
def test_a_file_that_is_no_picture_is_named(tmp_path, content):
    path = tmp_path / "broken.jpg"
    path.write_bytes(content)
    fn = estimator_io.image_input_fn(path, size=(4, 4), batch_size=1)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Not a picture.*broken\.jpg"):
        list(fn("eval"))


@pytest.mark.parametrize("fast", [False, True])
@pytest.mark.parametrize("kind", ["jpeg", "png"])
@pytest.mark.parametrize("lost", [1, 2, 9, 20])
def test_a_picture_that_was_cut_short_is_named(tmp_path, kind, lost, fast):
    encode = {"jpeg": tf.io.encode_jpeg, "png": tf.io.encode_png}[kind]
    path = tmp_path / "short.bin"
    path.write_bytes(encode(np.zeros((8, 8, 3), np.uint8)).numpy()[:-lost])
    options = {"fast_decode": True, "dtype": "uint8"} if fast else {}
    fn = estimator_io.image_input_fn(path, size=(4, 4), batch_size=1, **options)
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"cut short[\s\S]*short\.bin"):
        list(fn("eval"))


@pytest.mark.parametrize("kind", ["jpeg", "png"])
def test_bytes_behind_the_end_of_a_picture_do_no_harm(draw, tmp_path, kind):
    encode = {"jpeg": tf.io.encode_jpeg, "png": tf.io.encode_png}[kind]
    path = tmp_path / "long.bin"
    path.write_bytes(encode(np.full((4, 4, 3), 9, np.uint8)).numpy() + b"\0" * 100)
    fn = estimator_io.image_input_fn(path, size=(4, 4), labels=None, batch_size=1)
    (features,) = draw(lambda: fn("eval"))
    np.testing.assert_array_equal(features["image"][0], np.full((4, 4, 3), 9))


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"size": 3}, "size must be"),
        ({"size": (0, 3)}, "size must be"),
        ({"size": (3, 3), "channels": 2}, "channels must be 1, 3 or 4"),
        ({"size": (3, 3), "method": "best"}, "method is unknown. Received: 'best'"),
    ],
)
def test_impossible_options_are_refused(options, words):
    with pytest.raises(OptionError) as caught:
        estimator_io.image_input_fn(FILES, batch_size=1, **options)
    assert words in str(caught.value)
