"""Rows of a store as one reader sees them who skips what cannot be made."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from estimator_io.store.notes import Note
from estimator_io.store.rows import Block, Rows

__all__ = ["SkippingRows", "is_lasting"]

# What the next attempt may find gone, as TensorFlow and as Python name it.
_OF_THE_MOMENT = (
    tf.errors.AbortedError,
    tf.errors.CancelledError,
    tf.errors.DeadlineExceededError,
    tf.errors.FailedPreconditionError,
    tf.errors.NotFoundError,
    tf.errors.PermissionDeniedError,
    tf.errors.ResourceExhaustedError,
    tf.errors.UnauthenticatedError,
    tf.errors.UnavailableError,
)
_OF_PYTHON = re.compile(
    r"\b(OSError|FileNotFoundError|PermissionError|TimeoutError|InterruptedError|MemoryError"
    r"|BrokenPipeError|Connection\w*Error|WorkerError|URLError|HTTPError)\b"
)


def is_lasting(error: BaseException | None) -> bool:
    """Whether a row failed by what is in it, and not by the state of the machine or a network.

    Args:
      error: of the row when it was run again, alone; None where it did not fail then.
    """
    if not isinstance(error, tf.errors.OpError) or isinstance(error, _OF_THE_MOMENT):
        return False
    return _OF_PYTHON.search(str(getattr(error, "message", error))) is None


class SkippingRows:
    """Those of `Rows` for a reader to whom a bad row is as good as there.

    A bad row's values are zeros; `tell` says which rows are bad, and they are dropped. Notes of
    what lasts are shared with every reader. What may be of the moment counts for this one alone,
    and is tried again by the next.

    Args:
      rows: the store.
      note: called with (where, error, **fields) of each bad row that is met.
    """

    def __init__(self, rows: Rows, note: Callable[..., None]) -> None:
        self._rows = rows
        self._note = note
        self._own: dict[int, Note] = {}
        self.layout = rows.layout
        self.touch = rows.touch
        self.merge = rows.merge
        self.advance = rows.advance

    @property
    def total(self) -> int | None:
        """As of `Rows`."""
        return self._rows.total

    def add(self, note: Note, *, lasting: bool) -> None:
        """Notes a row of this store that could not be made."""
        if note.row is None:
            raise ValueError("what has no number is noted by add_lost")
        self._own[note.row] = note
        if lasting:
            self._rows.notes.add(note)
        self._rows.claims.drop(np.array([note.row]))

    def add_lost(self, where: int, error: str, offset: int | None = None) -> None:
        """Notes and tells what the source passed over, at byte `offset` of its file if known."""
        fields = {} if offset is None else {"offset": int(offset)}
        self._rows.notes.add(Note(None, int(where), error, fields))
        self._note(where, error, **fields)

    def tell(self, numbers: np.ndarray) -> np.ndarray:
        """Tells of each bad row among `numbers`, and returns which are good, bool [rows]."""
        bad = self._bad(numbers)
        for row in numbers[bad].tolist():
            note = self._own.get(row) or self._rows.notes.of(row)
            if note is not None:
                self._note(note.where, note.error, **note.fields)
        return ~bad

    def tell_lost(self) -> None:
        """Tells of all that the source passed over."""
        for note in self._rows.notes.lost:
            self._note(note.where, note.error, **note.fields)

    def is_whole(self, *, checked: bool = False) -> bool:
        """Whether every row was made or is bad, and with `checked` all made ones undamaged."""
        total = self.total
        if self._rows.is_whole(checked=checked):
            return True
        if checked or total is None or not self._rows.notes:
            return False
        return self.has_all(np.arange(total))

    def has_all(self, rows: np.ndarray) -> bool:
        """Whether each of `rows` can be read or is bad."""
        self._rows.notes.look()
        there = self._rows.present(rows)
        return bool(there.all()) or bool((there | self._bad(rows)).all())

    def claim(self, rows: np.ndarray, token: int, *, exclusive: bool = True) -> np.ndarray:
        """As of `Rows`; bad rows are not to be made."""
        wanted = ~self._bad(rows)
        wanted[wanted] = self._rows.claim(rows[wanted], token, exclusive=exclusive)
        return wanted

    def await_others(self, rows: np.ndarray) -> None:
        """As of `Rows`."""
        self._rows.await_others(rows[~self._bad(rows)])
        self._rows.notes.look()

    def accept(self, block: Block) -> None:
        """As of `Rows`, without bad rows."""
        self._rows.accept(block.pick(~self._bad(block.rows)))

    def read(self, rows: np.ndarray) -> Block:
        """As of `Rows`; bad rows are not missing, but zeros."""
        block = self._rows.read(rows)
        if block.missing.any():
            bad = block.missing & self._bad(rows)
            block.missing &= ~bad
            for row in rows[bad].tolist():
                note = self._rows.notes.of(row)
                if note is not None:  # and stays bad here, should somebody make it meanwhile
                    self._own.setdefault(row, note)
        return block

    def end(self, token: int) -> None:
        """As of `Rows`; where notes could not be kept, the source must be read again."""
        if self._rows.notes.whole:
            self._rows.end(token)

    def _bad(self, rows: np.ndarray) -> np.ndarray:
        bad = self._rows.notes.noted(rows)
        if bad.any():
            bad[bad] = ~self._rows.present(rows[bad])  # some that somebody has made after all
        if self._own:
            bad |= np.isin(rows, list(self._own))
        return bad
