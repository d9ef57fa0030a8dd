"""What the builders of TensorFlow Datasets tell of their files; never imports TFDS itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from estimator_io.errors import NoDataError, OptionError, SourceError
from estimator_io.plan.calls import Named

__all__ = ["part_rows", "require_whole_files", "split_files", "supervised_keys"]


def split_files(builder: Any, split: str) -> list[Any]:
    """Returns TFDS's FileInstructions of a split: the files, and which of their rows.

    Raises:
      OptionError: builder is no builder, or it has no such split.
      SourceError: it is not prepared, or its files are no TFRecords.
      NoDataError: the split holds no row.
    """
    info: Any = getattr(builder, "info", None)
    if not hasattr(info, "splits") or not hasattr(info, "features"):
        raise OptionError(
            f"builder is no DatasetBuilder. Received: {type(builder).__name__}. Expected: what"
            " tfds.builder(name) or tfds.builder_from_directory(folder) returns."
        )
    if not info.splits:
        raise SourceError(
            f"The data set {info.full_name!r} is not prepared in {str(info.data_dir)!r}. Run"
            " builder.download_and_prepare() first; this library downloads nothing."
        )
    kind = getattr(info.file_format, "value", info.file_format) or "tfrecord"
    if kind != "tfrecord":
        raise SourceError(
            f"The data set {info.full_name!r} is kept as {kind} files. Expected: tfrecord. Prepare"
            " it with file_format='tfrecord', or read it with generator_input_fn(lambda:"
            " builder.as_data_source(split))."
        )
    try:
        instructions = list(info.splits[split].file_instructions)
    except (KeyError, ValueError, TypeError) as error:
        raise OptionError(
            f"split cannot be read. Received: {split!r}. Expected: one of {list(info.splits)}, or a"
            f" part or sum of these, as TFDS writes it ({error})."
        ) from error
    if not sum(instruction.take for instruction in instructions):
        raise NoDataError(
            f"The split {split!r} of {info.full_name!r} holds no row. Expected: at least one."
        )
    return instructions


def part_rows(instructions: Sequence[Any]) -> Named | None:
    """Returns the rows to read, counted over all rows of all files; None where all are."""
    if all(map(_whole, instructions)):
        return None
    starts = np.cumsum([0, *(one.examples_in_shard for one in instructions)])
    ranges = [
        np.arange(start + one.skip, start + one.skip + one.take)
        for start, one in zip(starts, instructions, strict=False)
    ]
    return Named("kept_rows", np.concatenate(ranges).astype(np.int64))


def require_whole_files(instructions: Sequence[Any], split: str) -> None:
    """Checks that a stream can read the split.

    Raises:
      OptionError: the split begins or ends within a file.
    """
    if not all(map(_whole, instructions)):
        raise OptionError(
            f"split={split!r} begins or ends within a file, which only an index can find. Expected:"
            " index=True, or a split of whole files."
        )


def supervised_keys(builder: Any) -> Any:
    """Returns the names of (features, labels), nested as the data set's own description has them.

    Raises:
      OptionError: it has none.
    """
    keys = builder.info.supervised_keys
    if not isinstance(keys, tuple) or len(keys) not in (2, 3):
        raise OptionError(
            f"as_supervised=True needs a data set that names its labels. Received: supervised_keys"
            f" {keys!r} of {builder.info.full_name!r}. Give label=… instead."
        )
    return keys


def _whole(instruction: Any) -> bool:
    return instruction.skip == 0 and instruction.take == instruction.examples_in_shard
