"""Notes of rows that cannot be made, so that no later pass tries them again: a text file beside the
rows, a JSON object a line, which several processes append to.

Needs no TensorFlow.
"""

from __future__ import annotations

import dataclasses
import json
import os
import threading
from collections.abc import Mapping

import numpy as np

from estimator_io.errors import StoreError
from estimator_io.store.inside import folder_of, open_file

__all__ = ["NOTES", "FileNotes", "Note", "Notes"]

NOTES = "skipped"


@dataclasses.dataclass(frozen=True)
class Note:
    """What is known of one row that cannot be made.

    Attributes:
      row: its number in the store; None for what the source itself passed over, which has none.
      where: its number in the source, which tells file and place.
      error: why.
      fields: what else is told of it, such as the byte in its file.
    """

    row: int | None
    where: int
    error: str
    fields: Mapping[str, int | str] = dataclasses.field(default_factory=dict)

    def to_json(self) -> str:
        """Returns the line that tells it."""
        return json.dumps(dataclasses.asdict(self)) + "\n"

    @classmethod
    def from_json(cls, line: bytes) -> Note | None:
        """Returns the note in a line; None where the line was cut, or is something else."""
        try:
            told = json.loads(line)
            row = None if told["row"] is None else int(told["row"])
            fields = {str(name): value for name, value in told["fields"].items()}
            if any(type(value) not in (int, str) for value in fields.values()):
                return None
            note = cls(row, int(told["where"]), str(told["error"]), fields)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return None
        return None if row is not None and not 0 <= row < 1 << 62 else note


class Notes:
    """The notes on the rows of one generation, in this process alone."""

    def __init__(self) -> None:
        self._rows: dict[int, Note] = {}
        self._lost: dict[int, Note] = {}
        self._numbers = np.zeros(0, np.int64)  # of the rows, for whole blocks at once
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._rows) + len(self._lost)

    def add(self, note: Note) -> bool:
        """Adds a note; returns False where it is known already."""
        known, key = self._kind(note)
        with self._lock:
            if key in known:
                return False
            known[key] = note
            if note.row is not None:
                self._numbers = np.append(self._numbers, note.row)
        return True

    def of(self, row: int) -> Note | None:
        """Returns the note on a row, if there is one."""
        return self._rows.get(row)

    @property
    def lost(self) -> list[Note]:
        """The notes on what the source passed over."""
        with self._lock:
            return list(self._lost.values())

    def noted(self, rows: np.ndarray) -> np.ndarray:
        """Returns on which of `rows` there is a note, bool [rows]."""
        return np.isin(rows, self._numbers)

    def look(self) -> None:
        """Looks for what other processes have noted."""

    @property
    def whole(self) -> bool:
        """Whether all notes will be found by who comes later."""
        return True

    def _kind(self, note: Note) -> tuple[dict[int, Note], int]:
        return (self._lost, note.where) if note.row is None else (self._rows, note.row)


class FileNotes(Notes):
    """The notes in the folder of a generation.

    Args:
      folder: of the generation.
      writes: whether notes are added to it.
    """

    def __init__(self, folder: str, *, writes: bool) -> None:
        super().__init__()
        self._folder = folder
        self._writes = writes
        self._read = 0  # bytes of the file that were read
        self._whole = True
        self.look()

    def add(self, note: Note) -> bool:
        """As in `Notes`; a note that cannot be written counts for this process."""
        if not super().add(note):
            return False
        if self._writes:
            try:
                self._append(note.to_json().encode())
            except (OSError, StoreError):
                self._whole = False
        return True

    @property
    def whole(self) -> bool:
        """As in `Notes`."""
        return self._whole

    def look(self) -> None:
        """As in `Notes`."""
        try:
            with folder_of(self._folder) as at:
                size = os.stat(NOTES, dir_fd=at, follow_symlinks=False).st_size
                if size <= self._read:
                    return
                file = open_file(NOTES, os.O_RDONLY, at=at)
        except (OSError, StoreError):
            return  # nothing was noted, or nothing that can be trusted
        with os.fdopen(file, "rb") as stream:
            stream.seek(self._read)
            text = stream.read()
        lines = text[: text.rfind(b"\n") + 1]  # behind it somebody is writing
        self._read += len(lines)
        for line in lines.splitlines():
            note = Note.from_json(line)
            if note is not None:
                super().add(note)

    def _append(self, line: bytes) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        with folder_of(self._folder) as at:
            file = open_file(NOTES, flags, at=at)
        try:
            os.write(file, b"\n" + line)  # the newline ends what a kill has cut
        finally:
            os.close(file)
