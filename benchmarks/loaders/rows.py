"""What the loaders in Python read a row with: PIL, soundfile, and tables held by pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.loaders.cases import Case
from benchmarks.loaders.data import COLUMNS, LABEL, NUMBERS, SAMPLES, labels_of

__all__ = ["FileRows", "Table", "is_table"]


def is_table(case: Case) -> bool:
    """Whether rows are those of a table, which is read whole before the first batch."""
    return case.kind in ("csv", "parquet")


class FileRows:
    """Files by index: each row is read and decoded when it is asked for.

    Args:
      case: the case.
      files: the files, one a row.
      draft: whether PIL may decode a smaller picture by JPEG's own scaling.
    """

    def __init__(self, case: Case, files: list[str], *, draft: bool = False) -> None:
        self._case = case
        self._files = files
        self._labels = labels_of(files)
        self._draft = draft

    def __len__(self) -> int:
        """The number of files."""
        return len(self._files)

    def __getitem__(self, index: int) -> tuple[dict[str, np.ndarray], int]:
        """Returns (features, label) of one file."""
        path = self._files[index]
        if self._case.kind == "wav":
            features = {"audio": _recording(path)}
        else:
            features = {"image": _picture(path, self._case.size, draft=self._draft)}
        return features, self._labels[index]

    def batch(self, indices: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Returns a batch of rows."""
        rows = [self[int(index)] for index in indices]
        names = rows[0][0]
        features = {name: np.stack([row[0][name] for row in rows]) for name in names}
        return features, np.array([row[1] for row in rows])


def _picture(path: str, size: int, *, draft: bool) -> np.ndarray:
    from PIL import Image

    with Image.open(path) as opened:
        if draft:
            opened.draft("RGB", (size, size))
        picture = opened.convert("RGB")
    if picture.size != (size, size):
        picture = picture.resize((size, size), Image.Resampling.BILINEAR)
    return np.asarray(picture, np.float32)


def _recording(path: str) -> np.ndarray:
    import soundfile

    samples, _ = soundfile.read(path, frames=SAMPLES, fill_value=0.0, dtype="float32")
    return samples


class Table:
    """A table in memory: any rows of it at once, each column one NumPy array."""

    def __init__(self, case: Case, files: list[str]) -> None:
        import pandas as pd

        read = pd.read_csv if case.kind == "csv" else pd.read_parquet
        frame = pd.concat([read(file) for file in files], ignore_index=True)
        self._columns = {
            name: frame[name].to_numpy(np.int64 if name in NUMBERS else object) for name in COLUMNS
        }
        self._labels = self._columns.pop(LABEL)

    def __len__(self) -> int:
        """The number of rows."""
        return len(self._labels)

    def batch(self, indices: Any) -> tuple[dict[str, np.ndarray], np.ndarray]:
        """Returns a batch of rows."""
        at = np.asarray(indices)
        return {name: column[at] for name, column in self._columns.items()}, self._labels[at]
