"""The cases: which files, and which loaders read them."""

from __future__ import annotations

import dataclasses

__all__ = ["CASES", "LOADERS", "QUICK", "Case", "Settings"]

# Loaders by the module of this package that opens them, and what must be installed for each.
LOADERS: dict[str, tuple[str, tuple[str, ...]]] = {
    "library": ("library", ()),
    "library accurate": ("library", ()),
    "library fast": ("library", ()),
    "tf.data": ("guides", ()),
    "tf.data by batch": ("guides", ()),
    "make_csv_dataset": ("guides", ()),
    "tf.data of a frame": ("guides", ("pandas",)),
    "torch": ("torch_loader", ("torch",)),
    "torch draft": ("torch_loader", ("torch",)),
    "PyDataset": ("keras_loader", ()),
    "Grain": ("grain_loader", ("grain",)),
}


@dataclasses.dataclass(frozen=True)
class Case:
    """One set of files, and who reads it.

    Attributes:
      name: as --cases takes it.
      kind: "csv", "tfrecord", "parquet", "jpeg" (200 by 200 pixels), "photo" (800 by 800) or "wav".
      loaders: keys of `LOADERS`; "tf.data…" and "make_csv_dataset" are written by hand.
      batch_size: rows a batch.
      size: height and width that pictures are resized to, in pixels.
      needs: packages that all loaders of the case need.
      peers_need: packages that the loaders in Python need besides.
    """

    name: str
    kind: str
    loaders: tuple[str, ...]
    batch_size: int
    size: int = 0
    needs: tuple[str, ...] = ()
    peers_need: tuple[str, ...] = ()

    @property
    def of_pictures(self) -> bool:
        """Whether rows are pictures."""
        return self.kind in ("jpeg", "photo")

    @property
    def written_by_hand(self) -> tuple[str, ...]:
        """The loaders that are plain tf.data."""
        return tuple(name for name in self.loaders if LOADERS[name][0] == "guides")

    @property
    def peers(self) -> tuple[str, ...]:
        """The loaders of other packages."""
        return tuple(name for name in self.loaders if LOADERS[name][0] not in ("guides", "library"))


@dataclasses.dataclass(frozen=True)
class Settings:
    """The size of a run.

    Attributes:
      pairs: how often each loader runs in a case.
      drain_seconds: read before each measurement, so that what waited in buffers is gone.
      seconds: the least time measured in a run.
      workers: worker processes of the loaders that have some.
      pictures: files of an epoch.
      recordings: likewise.
      table_rows: rows of the CSV, TFRecord and Parquet files together.
      compared_rows: first rows in file order whose values are compared.
    """

    pairs: int = 15
    drain_seconds: float = 0.3
    seconds: float = 0.8
    workers: int = 2
    pictures: int = 2016
    recordings: int = 2360
    table_rows: int = 100_000
    compared_rows: int = 256


QUICK = Settings(
    pairs=2,
    drain_seconds=0.1,
    seconds=0.1,
    pictures=96,
    recordings=118,
    table_rows=2_000,
    compared_rows=48,
)

_PYTHON = ("torch", "PyDataset", "Grain")
# Under fit a PyDataset refuses columns of text.
_PYTHON_TABLES = ("torch", "Grain")
_RESIZED = ("library", "library fast", "tf.data", *_PYTHON)
CASES = {
    case.name: case
    for case in [
        Case(
            "csv",
            "csv",
            ("library", "tf.data", "tf.data by batch", "make_csv_dataset", *_PYTHON_TABLES),
            128,
            peers_need=("pandas",),
        ),
        Case("tfrecord", "tfrecord", ("library", "tf.data", "tf.data by batch"), 128),
        Case(
            "parquet",
            "parquet",
            ("library", "tf.data", "tf.data of a frame", *_PYTHON_TABLES),
            128,
            needs=("pyarrow",),
            peers_need=("pandas",),
        ),
        Case(
            "jpeg-200",
            "jpeg",
            ("library", "library accurate", "tf.data", *_PYTHON),
            64,
            size=200,
            peers_need=("PIL",),
        ),
        Case("jpeg-128", "jpeg", _RESIZED, 64, size=128, peers_need=("PIL",)),
        Case("photo-128", "photo", (*_RESIZED, "torch draft"), 64, size=128, peers_need=("PIL",)),
        Case("wav", "wav", ("library", "tf.data", *_PYTHON), 64, peers_need=("soundfile",)),
    ]
}
