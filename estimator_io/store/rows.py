"""A store of rows as NumPy sees it: which are there, claim, read, and keep what was made."""

from __future__ import annotations

import abc
import dataclasses
import threading
import time
from collections.abc import Sequence

import numpy as np

from estimator_io.store.checksum import entries_of, payload_sum, slot_sums
from estimator_io.store.claims import Claims
from estimator_io.store.layout import Layout
from estimator_io.store.notes import Notes

__all__ = ["Block", "Counts", "Rows", "grown", "pack_record", "unpack_record"]

# Seconds to wait for rows that another reader has claimed, once for each such reader.
MOST_WAIT = 2.0
_POLL_SECONDS = 0.003


@dataclasses.dataclass
class Block:
    """Some rows of a store.

    Attributes:
      rows: their numbers, int64 [rows].
      slots: for each slot of the layout its values, uint8 [rows, bytes].
      payloads: bytes objects, [rows, payloads].
      missing: bool [rows]: rows that are not there, whose values are undefined.
    """

    rows: np.ndarray
    slots: list[np.ndarray]
    payloads: np.ndarray
    missing: np.ndarray

    @property
    def nbytes(self) -> int:
        """Bytes of all values."""
        return sum(slot.nbytes for slot in self.slots) + sum(map(len, self.payloads.flat))

    def pick(self, kept: np.ndarray) -> Block:
        """Returns the rows where `kept`, bool [rows], says so."""
        if kept.all():
            return self
        slots = [slot[kept] for slot in self.slots]
        return Block(self.rows[kept], slots, self.payloads[kept], self.missing[kept])


@dataclasses.dataclass
class Counts:
    """What was done since the store was opened, in rows.

    Attributes:
      read: rows that were found.
      made: rows that the pipeline made.
      written: rows that were kept.
      dropped: rows that the writer could not take in time, or had no space for.
      damaged: rows whose checksum did not fit, and that count as missing since.
    """

    read: int = 0
    made: int = 0
    written: int = 0
    dropped: int = 0
    damaged: int = 0


class Rows(abc.ABC):
    """Rows by number, some of which are there.

    Args:
      layout: what a row holds.
      claims: the claims on its rows.

    Attributes:
      notes: on rows that cannot be made, which only readers that skip them look at.
    """

    def __init__(self, layout: Layout, claims: Claims) -> None:
        self.layout = layout
        self.claims = claims
        self.counts = Counts()
        self.notes = Notes()
        self.lock = threading.RLock()
        self._checked = np.zeros(0, bool)  # rows whose checksum was compared in this process
        # Rows on their way to the disk can be read already.
        self._on_the_way: dict[int, tuple[Block, int]] = {}
        self._ends: dict[int, int] = {}

    @property
    @abc.abstractmethod
    def entries(self) -> np.ndarray:
        """The table of checksums, uint64 [rows]; 0 for a row that is not there."""

    @property
    @abc.abstractmethod
    def total(self) -> int | None:
        """Rows of the whole source; None where no pass has come to its end yet."""

    @abc.abstractmethod
    def note_total(self, rows: int) -> None:
        """Notes the rows of the whole source."""

    @abc.abstractmethod
    def touch(self) -> None:
        """Says that the rows are in use."""

    @abc.abstractmethod
    def reserve(self, rows: int) -> None:
        """Makes room for at least `rows` rows in all tables."""

    @abc.abstractmethod
    def slots_at(self, rows: np.ndarray) -> list[np.ndarray]:
        """Returns the slots of rows that are there, in new arrays."""

    @abc.abstractmethod
    def record_at(self, row: int) -> bytes:
        """Returns the payloads of a row that is there, packed.

        Raises:
          OSError: they cannot be read.
        """

    @abc.abstractmethod
    def keep(self, block: Block) -> bool:
        """Takes the rows of `block` to be kept; returns False where they are let go."""

    def present(self, rows: np.ndarray) -> np.ndarray:
        """Returns which of `rows` can be read, bool [rows]."""
        self.reserve(int(rows.max(initial=-1)) + 1)
        there = self.entries[rows] != 0
        if self._on_the_way and not there.all():
            there |= np.fromiter((row in self._on_the_way for row in rows.tolist()), bool)
        return there

    def is_whole(self, *, checked: bool = False) -> bool:
        """Whether every row of the source is there, and with `checked` known to be undamaged."""
        if self.total is None or self.total > len(self.entries):
            return False
        whole = bool((self.entries[: self.total] != 0).all())
        return whole and (not checked or self._all_checked(self.total))

    def _all_checked(self, total: int) -> bool:
        return len(self._checked) >= total and bool(self._checked[:total].all())

    def has_all(self, rows: np.ndarray) -> bool:
        """Whether each of `rows` can be read."""
        return bool(self.present(rows).all())

    def claim(self, rows: np.ndarray, token: int, *, exclusive: bool = True) -> np.ndarray:
        """Returns which of `rows` the reader with `token` is to make, bool [rows].

        The others are there, or, where `exclusive`, somebody else is about to make them.
        """
        wanted = ~self.present(rows)
        first = np.zeros(len(rows), bool)
        first[np.unique(rows, return_index=True)[1]] = True
        wanted &= first
        if exclusive:
            wanted[wanted] = self.claims.take(rows[wanted], token)
        return wanted

    def await_others(self, rows: np.ndarray) -> None:
        """Returns when each of `rows` is there, or nobody seems to be making it."""
        limit = time.monotonic() + MOST_WAIT
        while True:
            rows = rows[~self.present(rows)]
            if not len(rows) or not self.claims.held(rows).any():
                return
            if time.monotonic() > limit:
                self.claims.give_up(rows)
                return
            time.sleep(_POLL_SECONDS)

    def accept(self, block: Block) -> None:
        """Takes rows that the pipeline has made; they can be read at once, if they are kept."""
        if not len(block.rows):
            return
        self.reserve(int(block.rows.max()) + 1)
        self.counts.made += len(block.rows)
        self.claims.learn(self.claims.since(block.rows))
        if not self.keep(block):
            self.counts.dropped += len(block.rows)
            self.claims.drop(block.rows)

    def read(self, rows: np.ndarray) -> Block:
        """Returns `rows`, those that are there."""
        self.reserve(int(rows.max(initial=-1)) + 1)
        entries = self.entries[rows]
        there = entries != 0
        if there.all():
            block = self._fetch(rows)
        else:
            block = self._empty(rows)
            _put(block, there, self._fetch(rows[there]))
        self._disown(block.rows[there & block.missing])
        block.missing |= ~there
        self._verify(block, entries)
        if block.missing.any():
            self._read_on_the_way(block)
            # What was on its way at the first look may have arrived before the second.
            arrived = block.missing & (entries == 0) & (self.entries[rows] != 0)
            if arrived.any():
                _put(block, arrived, self.read(rows[arrived]))
        self.counts.read += int(len(rows) - block.missing.sum())
        return block

    def merge(self, block: Block, where: np.ndarray, part: Block) -> Block:
        """Returns `block` with the rows at `where`, bool [rows], taken from `part`."""
        slots = [slot.copy() for slot in block.slots]
        merged = Block(block.rows, slots, block.payloads.copy(), np.zeros(len(block.rows), bool))
        _put(merged, where, part)
        return merged

    def advance(self, token: int, rows: int) -> None:
        """Notes that the reader with `token` has come through the first `rows` rows."""
        self.claims.beat(token)
        self._ends[token] = max(rows, self._ends.get(token, 0))

    def end(self, token: int) -> None:
        """Notes that the reader with `token` has come to the end of the source."""
        rows = self._ends.pop(token, 0)
        if rows:
            self.note_total(rows)

    def sums(self, block: Block) -> np.ndarray:
        """Returns the entries that the rows of `block` must have in the table."""
        parts = [slot_sums(slot) for slot in block.slots]
        if self.layout.payloads:
            records = (payload_sum(pack_record(row)) for row in block.payloads)
            parts.append(np.fromiter(records, np.uint64, len(block.rows)))
        return entries_of(block.rows, parts)

    def forget(self, rows: np.ndarray) -> None:
        """Lets rows count as missing."""
        self.entries[rows] = 0

    def _fetch(self, rows: np.ndarray) -> Block:
        """Returns rows that the table says are there."""
        payloads = np.full((len(rows), len(self.layout.payloads)), b"", object)
        missing = np.zeros(len(rows), bool)
        if self.layout.payloads:
            for at, row in enumerate(rows.tolist()):
                try:
                    payloads[at] = unpack_record(self.record_at(row), payloads.shape[1])
                except (OSError, ValueError):
                    missing[at] = True  # a place that was never written whole
        return Block(rows, self.slots_at(rows), payloads, missing)

    def _empty(self, rows: np.ndarray) -> Block:
        slots = [np.zeros((len(rows), s.row_bytes), np.uint8) for s in self.layout.slots.values()]
        payloads = np.full((len(rows), len(self.layout.payloads)), b"", object)
        return Block(rows, slots, payloads, np.zeros(len(rows), bool))

    def _verify(self, block: Block, entries: np.ndarray) -> None:
        """Compares the checksums of rows that this process reads for the first time."""
        self.know_checked(block.rows[:0])
        new = ~self._checked[block.rows] & ~block.missing
        if not new.any():
            return
        part = block.pick(new)
        good = self.sums(part) == entries[new]
        self._checked[part.rows[good]] = True
        if not good.all():
            bad = np.zeros(len(block.rows), bool)
            bad[new] = ~good
            block.missing |= bad
            self._disown(block.rows[bad])

    def know_checked(self, rows: np.ndarray) -> None:
        """Notes that `rows` are as they were written."""
        with self.lock:
            if len(self._checked) < len(self.entries):
                self._checked = grown(self._checked, len(self.entries))
            self._checked[rows] = True

    def _disown(self, rows: np.ndarray) -> None:
        """Lets rows that are not as they were written be made anew."""
        if len(rows):
            self.counts.damaged += len(rows)
            self.forget(rows)

    def _read_on_the_way(self, block: Block) -> None:
        for at in np.flatnonzero(block.missing).tolist():
            found = self._on_the_way.get(int(block.rows[at]))
            if found is None:
                continue
            source, place = found
            for mine, theirs in zip(block.slots, source.slots, strict=True):
                mine[at] = theirs[place]
            block.payloads[at] = source.payloads[place]
            block.missing[at] = False


def _put(block: Block, where: np.ndarray, part: Block) -> None:
    for mine, theirs in zip(block.slots, part.slots, strict=True):
        mine[where] = theirs
    block.payloads[where] = part.payloads
    block.missing[where] = part.missing


def grown(array: np.ndarray, rows: int) -> np.ndarray:
    """Returns a copy of `array` with zeros up to `rows` rows."""
    longer = np.zeros((rows, *array.shape[1:]), array.dtype)
    longer[: len(array)] = array
    return longer


def pack_record(payloads: Sequence[bytes]) -> bytes:
    """Returns the payloads of a row as one record: their lengths, then themselves."""
    lengths = np.array([len(payload) for payload in payloads], "<u8")
    return b"".join([lengths.tobytes(), *payloads])


def unpack_record(record: bytes, count: int) -> list[bytes]:
    """Returns the `count` payloads of a record.

    Raises:
      ValueError: it is no such record.
    """
    if len(record) < 8 * count:
        raise ValueError("the record is shorter than its own lengths")
    lengths = np.frombuffer(record, "<u8", count).tolist()
    if sum(lengths) + 8 * count != len(record):
        raise ValueError("the record has another length than its parts")
    parts, at = [], 8 * count
    for length in lengths:
        parts.append(record[at : at + length])
        at += length
    return parts
