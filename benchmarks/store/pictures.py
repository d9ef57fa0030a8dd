"""The data of the benchmark: JPEG files, made anew from a seed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

__all__ = ["PHOTO", "SIDE", "make_pictures"]

SIDE = 128  # pixels of a side, after parse
_FILE_SIZE = (200, 200)
PHOTO = (640, 480)  # width and height of a picture as cameras and public data sets have them


def make_pictures(folder: Path, count: int, size: tuple[int, int] = _FILE_SIZE) -> list[str]:
    """Writes `count` JPEG files of `size` pixels, 200 x 200 unless given; returns their paths."""
    from PIL import Image

    generator = np.random.default_rng(0)
    paths = []
    for number in range(count):
        coarse = generator.integers(0, 256, (25, 25, 3), np.uint8)
        picture = Image.fromarray(coarse).resize(size, Image.Resampling.BICUBIC)
        data = io.BytesIO()
        picture.save(data, "jpeg", quality=90)
        path = folder / f"{size[0]}-{number:05}.jpg"
        path.write_bytes(data.getvalue())
        paths.append(str(path))
    return paths
