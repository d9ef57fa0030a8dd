"""Rows kept in this process's memory."""

from __future__ import annotations

import logging
import time

import numpy as np

from estimator_io.store.claims import Claims
from estimator_io.store.layout import Layout
from estimator_io.store.rows import Block, Rows, grown, pack_record

__all__ = ["MemoryRows"]

_FIRST_ROWS = 1024


class MemoryRows(Rows):
    """Rows in arrays, which take memory as far as they are filled.

    Args:
      layout: what a row holds.
      total: rows of the source; None where they are not known yet.
      limit: bytes of rows to keep at most; None keeps all.
    """

    def __init__(self, layout: Layout, total: int | None, limit: int | None = None) -> None:
        super().__init__(layout, Claims(np.zeros(0, np.uint64), time.time()))
        self._total = total
        self.limit = limit
        self.nbytes = 0
        self._warned = False
        self._entries = np.zeros(0, np.uint64)
        self._slots = [np.zeros((0, slot.row_bytes), np.uint8) for slot in layout.slots.values()]
        self._records: dict[int, bytes] = {}
        self.reserve(total or _FIRST_ROWS)

    @property
    def entries(self) -> np.ndarray:
        """As in `Rows`."""
        return self._entries

    @property
    def total(self) -> int | None:
        """As in `Rows`."""
        return self._total

    def note_total(self, rows: int) -> None:
        """As in `Rows`."""
        self._total = rows

    def touch(self) -> None:
        """As in `Rows`; nobody else could remove them."""

    def reserve(self, rows: int) -> None:
        """As in `Rows`; the arrays double, and pages that nobody filled take no memory."""
        if rows <= len(self._entries):
            return
        with self.lock:
            size = max(rows, 2 * len(self._entries))
            self._slots = [grown(slot, size) for slot in self._slots]
            self._entries = grown(self._entries, size)
            self.claims.table = grown(self.claims.table, size)

    def slots_at(self, rows: np.ndarray) -> list[np.ndarray]:
        """As in `Rows`."""
        return [np.take(slot, rows, axis=0) for slot in self._slots]

    def record_at(self, row: int) -> bytes:
        """As in `Rows`."""
        return self._records[row]

    def keep(self, block: Block) -> bool:
        """As in `Rows`."""
        with self.lock:
            block = block.pick(self._entries[block.rows] == 0)
            if self.limit is not None and self.nbytes + block.nbytes > self.limit:
                self._warn_once()
                return False
            for slot, values in zip(self._slots, block.slots, strict=True):
                slot[block.rows] = values
            if self.layout.payloads:
                for row, payloads in zip(block.rows.tolist(), block.payloads, strict=True):
                    self._records[row] = pack_record(payloads)
            self.nbytes += block.nbytes
            self._entries[block.rows] = np.uint64(1)
            self.counts.written += len(block.rows)
        return True

    def _warn_once(self) -> None:
        if not self._warned:
            self._warned = True
            logging.getLogger("estimator_io").warning(
                "cache='memory' keeps no more rows: its limit of %s bytes is reached. Training goes"
                " on; rows that are not in it are made again in each pass.",
                f"{self.limit:,}",
            )

    def _all_checked(self, total: int) -> bool:
        del total
        return True

    def _verify(self, block: Block, entries: np.ndarray) -> None:
        """Memory is not verified: what could damage it could damage the sums too."""
