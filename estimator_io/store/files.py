"""Rows kept in the files of one generation: tables, one file a slot, and segments of payloads.

Data is written before the entry in the table, so a kill at any moment leaves whole rows and rows
that are not there. Tables are allocated before they are mapped: a full disk is an error of
`posix_fallocate` or `pwrite` then, where a store to a mapped hole would kill the process.
"""

from __future__ import annotations

import contextlib
import errno
import logging
import os
from collections.abc import Callable

import numpy as np

from estimator_io.errors import StoreError
from estimator_io.store.claims import Claims
from estimator_io.store.inside import folder_of, open_file
from estimator_io.store.layout import Layout
from estimator_io.store.notes import FileNotes
from estimator_io.store.rows import Block, Rows, grown, pack_record
from estimator_io.store.segments import Segments
from estimator_io.store.writer import Policy, Writer

__all__ = ["FileRows", "slot_file"]

_FIRST_ROWS = 4096
# Slots up to this size are allocated at once and written through a map, all rows by one call.
SMALL_BYTES = 512


class FileRows(Rows):
    """Rows in a folder.

    Args:
      folder: of the generation; it exists.
      layout: what a row holds.
      total: rows of the source; None where they are not known yet.
      created: seconds since 1970 at which the generation was made.
      policy: what the writer does when it cannot keep up; None reads alone.
      make_room: called with bytes that are about to be written; returns whether there is room.
      on_total: called once with the rows of the source when a pass has come to its end.
      on_use: called whenever rows are looked up.
      create: whether files that are missing are made.

    Raises:
      OSError: the files cannot be made or opened.
      StoreError: a file is missing or shorter than it was made.
    """

    def __init__(
        self,
        folder: str,
        layout: Layout,
        *,
        total: int | None,
        created: float,
        policy: Policy | None = None,
        make_room: Callable[[int], bool] = lambda nbytes: True,
        on_total: Callable[[int], None] = lambda rows: None,
        on_use: Callable[[], None] = lambda: None,
        create: bool = False,
    ) -> None:
        self._folder = folder
        self._total = total
        self._writes = policy is not None
        self._make_room = make_room
        self._on_total = on_total
        self._on_use = on_use
        super().__init__(layout, Claims(np.zeros(0, np.uint64), created))
        self.notes = FileNotes(folder, writes=self._writes)
        self._slot_list = list(layout.slots.values())
        self._segments = Segments(folder)
        self._files: dict[str, int] = {}
        self._tables: dict[str, np.ndarray] = {}
        self._slots: list[np.ndarray] = []
        self._capacity = 0
        self.full = False
        self._writer = Writer(self._write, policy or Policy())
        with folder_of(folder) as at:
            for name, _ in self._sizes():
                self._files[name] = self._open(name, create, at)
        self._map(max(1, total or _FIRST_ROWS) if create else 0)

    def __del__(self) -> None:
        for file in getattr(self, "_files", {}).values():
            with contextlib.suppress(OSError):
                os.close(file)

    @property
    def entries(self) -> np.ndarray:
        """As in `Rows`."""
        return self._tables["entries"]

    @property
    def total(self) -> int | None:
        """As in `Rows`."""
        return self._total

    def note_total(self, rows: int) -> None:
        """As in `Rows`."""
        if self._total is None and self._writes:
            self._total = rows
            self._on_total(rows)

    def touch(self) -> None:
        """As in `Rows`."""
        self._on_use()

    def reserve(self, rows: int) -> None:
        """As in `Rows`; what another process has added is found."""
        if rows <= self._capacity:
            return
        with self.lock:
            if rows > self._capacity and self._writes:
                self._map(max(rows, 2 * self._capacity))
            elif rows > self._capacity:
                self._pretend(max(rows, 2 * self._capacity))

    def slots_at(self, rows: np.ndarray) -> list[np.ndarray]:
        """As in `Rows`."""
        return [np.take(slot, rows, axis=0) for slot in self._slots]

    def record_at(self, row: int) -> bytes:
        """As in `Rows`."""
        place, length = self._tables["places"][row].tolist()
        return self._segments.read(place, length)

    def forget(self, rows: np.ndarray) -> None:
        """As in `Rows`; a store that is only read keeps its table."""
        if self._writes:
            super().forget(rows)

    def keep(self, block: Block) -> bool:
        """As in `Rows`: hands them to the writer."""
        if not self._writes or self.full:
            return False
        with self.lock:
            for at, row in enumerate(block.rows.tolist()):
                self._on_the_way[row] = (block, at)
        if self._writer.offer(block, block.nbytes):
            return True
        self._arrived(block)
        return False

    def flush(self, seconds: float | None = None) -> bool:
        """Waits until all that was taken is written; returns whether it is."""
        return self._writer.flush(seconds)

    def _arrived(self, block: Block) -> None:
        with self.lock:
            for row in block.rows.tolist():
                if self._on_the_way.get(row, (None,))[0] is block:
                    del self._on_the_way[row]

    def _write(self, block: Block) -> None:
        try:
            new = block.pick(self.entries[block.rows] == 0)
            if not len(new.rows):
                return
            if not self._make_room(new.nbytes):
                self._stop_writing("its size limit is reached")
            if self.full:
                self.counts.dropped += len(new.rows)
                return
            self._write_rows(new)
            self.counts.written += len(new.rows)
        except (OSError, StoreError) as error:
            self.counts.dropped += len(block.rows)
            self._stop_writing(_spell(error))
        finally:
            self._arrived(block)

    def _write_rows(self, block: Block) -> None:
        entries = self.sums(block)
        rows = block.rows.tolist()
        for at, values in enumerate(block.slots):
            if self._slot_list[at].row_bytes <= SMALL_BYTES:
                self._slots[at][block.rows] = values
            else:
                file = self._files[slot_file(at)]
                for row, value in zip(rows, values, strict=True):
                    _write_all(file, memoryview(value), row * values.shape[1])
        if self.layout.payloads:
            records = [pack_record(payloads) for payloads in block.payloads]
            self._tables["places"][block.rows] = self._segments.append(records)
        self.entries[block.rows] = entries
        self.know_checked(block.rows)

    def _stop_writing(self, reason: str) -> None:
        if not self.full:
            self.full = True
            logging.getLogger("estimator_io").warning(
                "the store in %r keeps no more rows: %s. Training goes on; rows that are not in it"
                " are made again in each pass.",
                os.path.dirname(os.path.dirname(self._folder)),
                reason,
            )

    def _sizes(self) -> list[tuple[str, int]]:
        """Returns each file with the bytes that it holds for a row."""
        sizes = [("entries", 8), ("claims", 8)]
        sizes += [("places", 16)] if self.layout.payloads else []
        slots = enumerate(self.layout.slots.values())
        return sizes + [(slot_file(at), slot.row_bytes) for at, slot in slots]

    def _open(self, name: str, create: bool, at: int) -> int:
        access = os.O_RDWR if self._writes else os.O_RDONLY
        path = os.path.join(self._folder, name)
        try:
            return open_file(name, access | (os.O_CREAT if create else 0), at=at)
        except FileNotFoundError as error:
            raise StoreError(_damaged(path, "it is not there")) from error
        except OSError as error:
            if error.errno == errno.ELOOP:
                raise StoreError(_damaged(path, "it is a link")) from error
            raise

    def _map(self, wanted: int) -> None:
        """Maps the files, after they were made long enough for `wanted` rows."""
        sizes = self._sizes()
        held = [os.fstat(self._files[name]).st_size // max(1, size) for name, size in sizes if size]
        if self._writes and wanted > min(held):
            for name, size in sizes:
                self._lengthen(name, size, wanted)
            capacity = wanted
        else:
            capacity = min(held)
        if capacity < max(1, wanted, self._total or 0):
            path = os.path.join(self._folder, "entries")
            raise StoreError(_damaged(path, "a table is shorter than the rows of the source"))
        maps = {name: self._mapped(name, size, capacity) for name, size in sizes}
        entries = {name: maps[name][:, 0] for name in ("entries", "claims")}
        if "places" in maps:
            entries["places"] = maps["places"]
        if not self._writes:
            entries["claims"] = np.zeros(capacity, np.uint64)  # this process's own
        self._tables = entries
        self.claims.table = entries["claims"]
        self._slots = [maps[slot_file(at)] for at in range(len(self._slot_list))]
        self._capacity = capacity

    def _pretend(self, rows: int) -> None:
        """Shows rows that are not there, in a store that is only read."""
        tables = self._tables
        self._tables = {name: grown(table, rows) for name, table in tables.items()}
        self.claims.table = self._tables["claims"]
        self._capacity = rows

    def _lengthen(self, name: str, size: int, rows: int) -> None:
        file, length = self._files[name], size * rows
        if os.fstat(file).st_size >= length:
            return
        if name.startswith("slot") and size > SMALL_BYTES:
            os.ftruncate(file, length)  # sparse: rows take space when they are written
        elif length:
            os.posix_fallocate(file, 0, length)

    def _mapped(self, name: str, size: int, rows: int) -> np.ndarray:
        dtype, width = (np.uint8, size) if name.startswith("slot") else (np.uint64, size // 8)
        if not size:
            return np.zeros((rows, 0), dtype)
        # Large slots are written by pwrite, and never through their map.
        writable = self._writes and (dtype is np.uint64 or size <= SMALL_BYTES)
        with os.fdopen(os.dup(self._files[name]), "r+b" if self._writes else "rb") as file:
            mapped = np.memmap(file, dtype, "r+" if writable else "r", shape=(rows, width))
        return mapped.view(np.ndarray)


def slot_file(at: int) -> str:
    """Returns the name of the file of the slot with number `at`."""
    return f"slot-{at:03}.bin"


def _write_all(file: int, data: memoryview, offset: int) -> None:
    while len(data):
        written = os.pwrite(file, data, offset)
        data, offset = data[written:], offset + written


def _spell(error: Exception) -> str:
    return f"it cannot be written ({getattr(error, 'strerror', None) or error})"


def _damaged(path: str, what: str) -> str:
    return (
        f"The store is damaged at {path!r}: {what}. Nothing was removed. Run estimator-io cache rm"
        " on the folder to be rid of it, or give another folder."
    )
