"""Pictures as bytes, and decoded fast: against TensorFlow's decoder at the fraction by hand."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError
from tests.conftest import DRAWINGS

FILES = sorted(str(path) for path in DRAWINGS.glob("*/*.jpg"))[:6]


def write_jpeg(path, height, width):
    """Writes a smooth picture with colour, so that fractions of it look alike."""
    down, right = np.mgrid[:height, :width]
    pixels = np.stack([down * 255 / height, right * 255 / width, down * 0 + 90], -1)
    path.write_bytes(tf.io.encode_jpeg(pixels.astype(np.uint8)).numpy())
    return str(path)


def read(draw, files, how="eager", **options):
    fn = estimator_io.image_input_fn(files, labels=None, batch_size=99, **options)
    (batch,) = draw(lambda: fn("eval"), how)
    return batch["image"]


def by_hand(path, size, ratio, method="bilinear"):
    picture = tf.io.decode_jpeg(
        tf.io.read_file(path), channels=3, ratio=ratio, dct_method="INTEGER_FAST"
    )
    return np.clip(np.floor(tf.image.resize(picture, size, method=method).numpy() + 0.5), 0, 255)


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize(
    ("shape", "size", "ratio"),
    [
        ((64, 64), (64, 64), 1),
        ((64, 64), (33, 20), 1),
        ((64, 64), (32, 32), 2),
        ((65, 64), (33, 32), 2),  # the decoder rounds up
        ((64, 63), (32, 33), 1),
        ((64, 640), (17, 17), 2),  # the short side decides
        ((64, 64), (16, 16), 4),
        ((100, 200), (8, 8), 8),
        ((20, 20), (40, 40), 1),
    ],
)
def test_the_smallest_fraction_that_covers_the_size_is_decoded(
    draw, tmp_path, how, shape, size, ratio
):
    path = write_jpeg(tmp_path / "x.jpg", *shape)
    received = read(draw, path, how, size=size, fast_decode=True)
    assert received.dtype == np.float32
    np.testing.assert_array_equal(received[0], by_hand(path, size, ratio))


def test_a_smooth_picture_hardly_changes(draw, tmp_path):
    path = write_jpeg(tmp_path / "x.jpg", 256, 256)
    fast = read(draw, path, size=(32, 32), fast_decode=True)
    assert 0 < np.abs(fast - read(draw, path, size=(32, 32))).max() < 6


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "nearest", "area"])
def test_bytes_are_the_exact_values_rounded(draw, method):
    exact = read(draw, FILES, size=(50, 40), method=method)
    received = read(draw, FILES, size=(50, 40), method=method, dtype="uint8")
    assert received.dtype == np.uint8
    np.testing.assert_array_equal(received, np.clip(np.floor(exact + 0.5), 0, 255))


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_a_stage_that_works_row_by_row_sees_what_batches_hold(draw, dtype):
    options = {"size": (40, 40), "dtype": dtype, "fast_decode": True}
    whole = read(draw, FILES, **options)
    by_row = read(draw, FILES, **options, parse=lambda features: features)
    assert whole.dtype == by_row.dtype == dtype
    np.testing.assert_array_equal(whole, by_row)


@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_other_formats_keep_their_pixels(draw, tmp_path, dtype):
    pixels = (np.arange(4 * 5 * 3).reshape(4, 5, 3) * 4).astype(np.uint8)
    path = tmp_path / "x.png"
    path.write_bytes(tf.io.encode_png(pixels).numpy())
    received = read(draw, str(path), size=(4, 5), dtype=dtype, fast_decode=True)
    np.testing.assert_array_equal(received[0], pixels)


@pytest.mark.parametrize("channels", [1, 3])
def test_labels_and_channels_stay(draw, channels):
    fn = estimator_io.image_input_fn(
        FILES, size=(8, 8), channels=channels, labels=[*range(6)], batch_size=4, fast_decode=True
    )
    batches = draw(lambda: fn("eval"))
    assert [batch[0]["image"].shape for batch in batches] == [
        (4, 8, 8, channels),
        (2, 8, 8, channels),
    ]
    assert np.concatenate([labels for _, labels in batches]).tolist() == [*range(6)]
    assert fn.element_spec[0]["image"].shape.as_list() == [None, 8, 8, channels]


def test_transparency_is_kept(draw, tmp_path):
    pixels = np.arange(64).reshape(4, 4, 4).astype(np.uint8)
    path = tmp_path / "x.png"
    path.write_bytes(tf.io.encode_png(pixels).numpy())
    received = read(draw, str(path), size=(4, 4), channels=4, fast_decode=True)
    np.testing.assert_array_equal(received[0], pixels)


def test_a_file_that_is_no_picture_is_named(tmp_path):
    (tmp_path / "x.jpg").write_bytes(b"no")
    fn = estimator_io.image_input_fn(
        str(tmp_path / "x.jpg"), size=(4, 4), labels=None, batch_size=1, fast_decode=True
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"Not a picture.*[\s\S]*x\.jpg"):
        list(fn("eval"))


def test_an_unknown_dtype_is_refused():
    with pytest.raises(OptionError, match=r"dtype is unknown.*'float16'.*'uint8'"):
        estimator_io.image_input_fn(FILES, size=(4, 4), dtype="float16")


@pytest.mark.parametrize("options", [{"fast_decode": True}, {"dtype": "uint8"}])
def test_the_printed_program_gives_the_same_batches(options):
    fn = estimator_io.image_input_fn(
        "examples/data/drawings/food/*.jpg", size=(9, 9), batch_size=5, epochs=1, seed=3, **options
    )
    namespace = {}
    exec(compile(fn.source_code("train"), "printed", "exec"), namespace)
    ours = list(fn.dataset("train").as_numpy_iterator())
    printed = list(namespace["make_dataset"]().as_numpy_iterator())
    for one, other in zip(ours, printed, strict=True):
        np.testing.assert_array_equal(one[0]["image"], other[0]["image"])
        np.testing.assert_array_equal(one[1], other[1])
