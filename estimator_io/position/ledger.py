"""The ledger: an append-only file of JSON lines beside the checkpoints.

A line is appended by one write, before the first batch is drawn, so a kill loses nothing that a
checkpoint could refer to. What a kill or a full disk can leave is a torn last line: it is ignored,
and the next line begins on a line of its own. This module imports TensorFlow for remote paths
alone.
"""

from __future__ import annotations

import errno
import json
import os

from estimator_io.errors import PositionError
from estimator_io.position.run import End, Run, from_json, to_json

__all__ = ["Ledger"]

NAME = "estimator_io_ledger"


class Ledger:
    """The entries of one input pipeline on one model_dir.

    Args:
      model_dir: the folder of the checkpoints; need not exist yet.
      pipeline: the index of the input pipeline. Each has a ledger of its own, so that workers which
        share a folder neither race nor mix their positions.
    """

    def __init__(self, model_dir: str, pipeline: int = 0) -> None:
        name = NAME if pipeline == 0 else f"{NAME}-{pipeline}"
        self.path = os.path.join(model_dir, name + ".jsonl")

    def read(self) -> list[Run | End]:
        """Returns the entries, oldest first.

        Raises:
          PositionError: a line other than the last is no entry.
        """
        lines = self._text().split(b"\n")[
            :-1
        ]  # behind the last line end is nothing, or a torn line
        entries = [self._entry(line, at) for at, line in enumerate(lines, 1) if line.strip()]
        return [entry for entry in entries if entry is not None]

    def append(self, entry: Run | End) -> None:
        """Adds one entry, in one write."""
        text = self._text()
        line = json.dumps(to_json(entry), sort_keys=True).encode() + b"\n"
        if text and not text.endswith(b"\n"):
            # What was torn stays visible, as a line that says so.
            line = b" #torn\n" + line
        if "://" in self.path:
            import tensorflow as tf

            tf.io.gfile.makedirs(os.path.dirname(self.path))
            with tf.io.gfile.GFile(self.path, "ab") as file:
                file.write(line)
            return
        os.makedirs(os.path.dirname(self.path), exist_ok=True)
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
        try:
            written = os.write(descriptor, line)
        finally:
            os.close(descriptor)
        if written != len(line):
            raise OSError(errno.ENOSPC, "the disk took part of a line only", self.path)

    def _text(self) -> bytes:
        if "://" in self.path:
            import tensorflow as tf

            if not tf.io.gfile.exists(self.path):
                return b""
            with tf.io.gfile.GFile(self.path, "rb") as file:
                return file.read()
        try:
            with open(self.path, "rb") as file:
                return file.read()
        except FileNotFoundError:
            return b""

    def _entry(self, line: bytes, number: int) -> Run | End | None:
        if line.endswith(b"#torn"):
            return None
        try:
            return from_json(json.loads(line))
        except (ValueError, TypeError, AttributeError) as error:
            raise PositionError(
                f"{self.path!r}, line {number}, is no entry of a ledger ({error}). Received:"
                f" {line[:80]!r}. Expected: a JSON object as this library writes it. Without the"
                " ledger the position is not known: restore the file, or move it away to let"
                " training begin with the first row."
            ) from error
