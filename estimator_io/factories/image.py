"""`image_input_fn`: pictures on disk."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from estimator_io.errors import OptionError
from estimator_io.factories.general import make_options
from estimator_io.ops.image import image_element
from estimator_io.ops.jpeg import floats, image_row, image_row_of_floats
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.files import Files, Labels, file_source
from estimator_io.sources.split import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["image_input_fn"]

_METHODS = ("bilinear", "nearest", "bicubic", "area", "lanczos3", "lanczos5", "gaussian")


def image_input_fn(
    files: Files,
    *,
    size: tuple[int, int],
    labels: Labels = "folder",
    channels: int = 3,
    method: str = "bilinear",
    dtype: str = "float32",
    fast_decode: bool = False,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over JPEG, PNG, GIF (first frame) and BMP files.

    Features are {"image": float32 [batch, height, width, channels]} in [0, 255], the range that
    Keras's own loaders give, or uint8 with dtype="uint8". `parse` gets (features, label) of one
    picture.

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      size: (height, width) in pixels that every picture is resized to.
      labels: "folder", a function of the path, a list with one label a file, or None.
      channels: 1 for grey, 3 for RGB, 4 for RGBA (PNG).
      method: how to resize: a method of tf.image.resize.
      dtype: "float32", or "uint8": the resized values rounded to whole numbers, in a quarter of the
        memory of a batch or cache; cast them on the device.
      fast_decode: decode JPEG files at 1/2, 1/4 or 1/8 of their size where that still covers
        `size`, by the fast integer transform, and round to whole numbers before the batch. Other
        values (docs/sources.md says how far apart); the gain grows with the size of the files.
      split: ("train", fraction) or ("validation", fraction), by file name.
      **options: the stages, as in `input_fn`.

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: no file matches.
      SourceError: labels has another length than files.
      OptionError: an option is impossible or contradicts another.

    Example:
      >>> import estimator_io
      >>> fn = estimator_io.image_input_fn(
      ...     "examples/data/drawings/**/*.jpg", size=(32, 32), batch_size=4
      ... )
      >>> fn.element_spec[0]["image"].shape.as_list()
      [None, 32, 32, 3]
    """
    if not (isinstance(size, (tuple, list)) and len(size) == 2 and min(size) >= 1):
        raise OptionError(
            f"size must be (height, width) in pixels, each at least 1. Received: {size!r}."
        )
    if channels not in (1, 3, 4):
        raise OptionError(f"channels must be 1, 3 or 4. Received: {channels!r}.")
    if method not in _METHODS:
        raise OptionError(
            f"method is unknown. Received: {method!r}. Expected: one of {', '.join(_METHODS)}."
        )
    if dtype not in ("float32", "uint8"):
        raise OptionError(f"dtype is unknown. Received: {dtype!r}. Expected: 'float32' or 'uint8'.")
    checked = make_options(options)
    shape = {"size": tuple(size), "channels": channels, "method": method}
    decode = functools.partial(image_element, **shape)
    if dtype == "uint8":
        decode = functools.partial(image_row, **shape, fast=bool(fast_decode))
    elif fast_decode:
        decode = functools.partial(image_row_of_floats, **shape)
    source = file_source(
        files, labels=labels, split=split, decode=decode, words="pictures", example="*.jpg"
    )
    if fast_decode and dtype == "float32":
        source.read_row = functools.partial(image_row, **shape, fast=True)
        source.decode_batch = floats
    return StagedInputFn(source, checked)
