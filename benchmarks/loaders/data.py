"""The files that all loaders read: those of examples/data, repeated until an epoch is long enough.

Pictures and recordings are hard links (copies where links cannot be made), so that each row is a
file of its own to open; tables are the adult excerpt, written once in each format.
"""

from __future__ import annotations

import contextlib
import csv
import importlib.util
import os
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from benchmarks.loaders.cases import Settings

__all__ = ["COLUMNS", "LABEL", "NUMBERS", "SAMPLES", "labels_of", "make_files", "table_rows"]

_EXAMPLES = Path(__file__).parents[2] / "examples" / "data"
_PARTS = 4  # files that the tables are spread over
ROW_GROUP = 4096
PHOTO_PIXELS = 800
SAMPLES = 8_000  # a recording is cut or padded to one second at 8 kHz

COLUMNS = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation"),
    *("relationship", "race", "sex", "gain", "loss", "hours", "country", "income"),
)
NUMBERS = ("age", "fnlwgt", "education_num", "gain", "loss", "hours")
LABEL = "income"


def make_files(folder: Path, settings: Settings) -> dict[str, list[str]]:
    """Writes the files of every kind below `folder`, and returns their paths by kind."""
    drawings, recordings = _originals("drawings/*/*.jpg"), _originals("spoken/*/*.wav")
    found = {
        "jpeg": _repeated(drawings, folder / "jpeg", settings.pictures),
        "photo": _repeated(_enlarged(drawings, folder), folder / "photo", settings.pictures),
        "wav": _repeated(recordings, folder / "wav", settings.recordings),
        "csv": _parts(folder, "csv"),
        "tfrecord": _parts(folder, "tfrecord"),
        "parquet": _parts(folder, "parquet"),
    }
    rows = table_rows(settings.table_rows)
    share = -(-len(rows) // _PARTS)
    for at in range(_PARTS):
        part = rows[at * share : (at + 1) * share]
        _write_csv(found["csv"][at], part)
        _write_records(found["tfrecord"][at], part)
        if importlib.util.find_spec("pyarrow"):
            _write_parquet(found["parquet"][at], part)
    return found


def table_rows(count: int) -> list[list[str]]:
    """Returns `count` rows of the adult excerpt, again from its start when it ends."""
    with open(_EXAMPLES / "adult" / "adult.data", newline="") as file:
        rows = [row for row in csv.reader(file, skipinitialspace=True) if row]
    return [rows[at % len(rows)] for at in range(count)]


def labels_of(files: Sequence[str]) -> list[int]:
    """Returns the number of each file's folder among the folders in sorted order."""
    folders = [os.path.basename(os.path.dirname(file)) for file in files]
    names = sorted(set(folders))
    return [names.index(folder) for folder in folders]


def _parts(folder: Path, kind: str) -> list[str]:
    return [os.fspath(folder / f"adult-{at}.{kind}") for at in range(_PARTS)]


def _originals(pattern: str) -> list[Path]:
    found = sorted(_EXAMPLES.glob(pattern))
    if not found:
        raise FileNotFoundError(
            f"{_EXAMPLES / pattern} matches no file. Expected: the files of a checkout. Run the"
            " benchmark from one."
        )
    return found


def _enlarged(originals: Sequence[Path], folder: Path) -> list[Path]:
    """Writes the pictures with PHOTO_PIXELS on each side, as a camera gives more than is needed."""
    import tensorflow as tf

    made = []
    for original in originals:
        picture = tf.io.decode_jpeg(original.read_bytes(), channels=3)
        large = tf.image.resize(picture, (PHOTO_PIXELS, PHOTO_PIXELS), method="bicubic")
        target = folder / "enlarged" / original.parent.name / original.name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(tf.io.encode_jpeg(tf.saturate_cast(large, tf.uint8)).numpy())
        made.append(target)
    return made


def _repeated(originals: Sequence[Path], folder: Path, count: int) -> list[str]:
    return sorted(os.fspath(path) for path in _links(originals, folder, count))


def _links(originals: Sequence[Path], folder: Path, count: int) -> Iterator[Path]:
    for at in range(count):
        original = originals[at % len(originals)]
        target = folder / original.parent.name / f"{at:06}-{original.name}"
        target.parent.mkdir(parents=True, exist_ok=True)
        with contextlib.suppress(OSError):
            os.link(original, target)
        if not target.exists():
            shutil.copyfile(original, target)
        yield target


def _write_csv(path: str, rows: Sequence[Sequence[str]]) -> None:
    with open(path, "w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])


def _write_records(path: str, rows: Sequence[Sequence[str]]) -> None:
    import tensorflow as tf

    with tf.io.TFRecordWriter(path) as writer:
        for row in rows:
            features = {name: _feature(name, text) for name, text in zip(COLUMNS, row, strict=True)}
            example = tf.train.Example(features=tf.train.Features(feature=features))
            writer.write(example.SerializeToString())


def _feature(name: str, text: str):
    import tensorflow as tf

    if name in NUMBERS:
        return tf.train.Feature(int64_list=tf.train.Int64List(value=[int(text)]))
    return tf.train.Feature(bytes_list=tf.train.BytesList(value=[text.encode()]))


def _write_parquet(path: str, rows: Sequence[Sequence[str]]) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns = dict(zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True))
    table = {n: [int(t) for t in c] if n in NUMBERS else c for n, c in columns.items()}
    pq.write_table(pa.table(table), path, row_group_size=ROW_GROUP)
