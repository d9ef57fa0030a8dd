"""What was skipped: counted, listed in a file, and stopped where it is too much."""

from __future__ import annotations

import datetime
import json
import logging
import os
import threading
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import SourceError

__all__ = ["LIST_NAME", "Skipped"]

LIST_NAME = "estimator_io_skipped.jsonl"

_LOG = logging.getLogger("estimator_io")


class Skipped:
    """The rows of one source that were skipped, each counted once however often it is met.

    Args:
      place: returns the fields that tell where a row stands, from its number in the source.

    Attributes:
      folder: where the list is written if no other place is given: the model_dir of the latest
        call by the Estimator.
    """

    def __init__(self, place: Callable[[int], Mapping[str, Any]]) -> None:
        self._place = place
        self._seen: dict[str | None, set[int]] = {}
        self._lock = threading.Lock()
        self.folder: str | None = None

    def list_path(self, given: str | None) -> str | None:
        """Returns the path of the list: as given, or in the model_dir; None without either."""
        if given is not None or self.folder is None:
            return given
        return tf.io.gfile.join(self.folder, LIST_NAME)

    def count(self, path: str | None = None) -> int:
        """Returns how many rows were skipped so far, as far as they were listed in `path`."""
        with self._lock:
            return len(self._seen.get(path, ()))

    def noting(self, *, limit: int, path: str | None) -> Callable[..., None]:
        """Returns `note(where, error, **fields)`, which lists a row and stops at `limit`."""

        def note(where: int, error: str, offset: int | None = None, **fields: Any) -> None:
            with self._lock:
                seen = self._seen.setdefault(path, set())
                if where in seen:
                    return
                entry = {**self._place(where), **fields, "error": error}
                if offset is not None:
                    entry["offset"] = offset
                if len(seen) >= limit:
                    raise SourceError(_too_many(limit, path, entry))
                seen.add(where)
                _write(path, entry)
                _say(len(seen), path, entry)

        return note


def _too_many(limit: int, path: str | None, entry: Mapping[str, Any]) -> str:
    return (
        f"More than max_skipped={limit} rows cannot be read; the next one is {spell_place(entry)}:"
        f" {entry['error']}. {'They are listed in ' + repr(path) + '. ' if path else ''}Mend or"
        " remove them, or give a larger max_skipped."
    )


def _write(path: str | None, entry: Mapping[str, Any]) -> None:
    if path is None:
        return
    now = datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds")
    line = json.dumps({**entry, "time": now}) + "\n"
    folder = os.path.dirname(path)
    if folder:
        tf.io.gfile.makedirs(folder)
    if "://" in path:
        with tf.io.gfile.GFile(path, "a") as file:
            file.write(line)
        return
    # One write to a file opened for appending: lines of several workers do not mix.
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        os.write(descriptor, line.encode())
    finally:
        os.close(descriptor)


def _say(count: int, path: str | None, entry: Mapping[str, Any]) -> None:
    if count not in (1, 10, 100) and count % 1000:
        return
    place = f"listed in {path}" if path else "skipped_log=… would list them"
    text = "%d rows skipped so far, the last one %s: %s (%s)"
    _LOG.warning(text, count, spell_place(entry), entry["error"], place)


def spell_place(entry: Mapping[str, Any]) -> str:
    """Returns where a row stands in a few words: 'a.tfrecord', record 3 (from 0)."""
    parts = [repr(entry["file"])] if "file" in entry else []
    for name in ("line", "record", "row_group", "row"):
        if name in entry:
            base = "" if name == "line" else " (from 0)"
            parts.append(f"{name.replace('_', ' ')} {entry[name]}{base}")
    return ", ".join(parts)
