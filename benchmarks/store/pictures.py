"""The data of the benchmark: JPEG files, made anew from a seed."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np

__all__ = ["SIDE", "make_pictures"]

SIDE = 128  # pixels of a side, after parse
_FILE_SIDE = 200


def make_pictures(folder: Path, count: int) -> list[str]:
    """Writes `count` JPEG files of 200 x 200 pixels and returns their paths."""
    from PIL import Image

    generator = np.random.default_rng(0)
    paths = []
    for number in range(count):
        coarse = generator.integers(0, 256, (25, 25, 3), np.uint8)
        picture = Image.fromarray(coarse).resize((_FILE_SIDE, _FILE_SIDE), Image.Resampling.BICUBIC)
        data = io.BytesIO()
        picture.save(data, "jpeg", quality=90)
        path = folder / f"{number:05}.jpg"
        path.write_bytes(data.getvalue())
        paths.append(str(path))
    return paths
