"""Who is making which row: so that two readers of the same rows share the work.

A claim is a hint, never a lock: a token and a time, in a table that all readers see. One that is
old counts for nothing, so what a killed reader leaves behind delays nobody for long; and where two
readers claim one row at once, or cannot see each other's claims, a row is made twice, which is
harmless.
"""

from __future__ import annotations

import secrets
import time

import numpy as np

__all__ = ["Claims", "new_token"]

_TIME_BITS = np.uint64(40)  # milliseconds: 34 years
_TIME_MASK = np.uint64((1 << 40) - 1)
LEAST_PATIENCE = 1.0
MOST_PATIENCE = 60.0
# The patience with another reader of this process, of which it is known when it last did anything.
LEAST_IDLE = 0.1
# Readers of this process that are remembered.
_PULSES = 1000


def new_token() -> int:
    """Returns a number for one reader: 24 bits, never 0."""
    return secrets.randbelow((1 << 24) - 1) + 1


class Claims:
    """The claims on the rows of one store.

    Args:
      table: uint64 [rows], shared by all readers.
      epoch: seconds since 1970 that times in the table are counted from.
    """

    def __init__(self, table: np.ndarray, epoch: float) -> None:
        self.table = table
        self._epoch = epoch
        self.patience = LEAST_PATIENCE
        self._gone = np.zeros(0, np.uint64)  # tokens of readers that were waited for in vain
        self._pulses: dict[int, float] = {}  # when readers of this process last did anything
        self._quickest = LEAST_PATIENCE / 4  # seconds that a block took to make

    def take(self, rows: np.ndarray, token: int) -> np.ndarray:
        """Claims `rows` for `token` and returns which of them it got, bool [rows]."""
        self.beat(token)
        got = ~self.held(rows)
        stamp = np.uint64(token << int(_TIME_BITS)) | self._now()
        wanted = rows[got]
        self.table[wanted] = stamp
        # Of two that claim one row at once, the later one has it.
        got[got] = self.table[wanted] == stamp
        return got

    def held(self, rows: np.ndarray) -> np.ndarray:
        """Returns which of `rows` somebody claimed not too long ago, bool [rows]."""
        stamps = self.table[rows]
        age = self._now().astype(np.int64) - (stamps & _TIME_MASK).astype(np.int64)
        # A claim from the future is one of a host whose clock runs ahead.
        held = (stamps != 0) & (np.abs(age) < int(self.patience * 1000))
        if not held.any():
            return held
        tokens = stamps >> _TIME_BITS
        return held & ~np.isin(tokens, self._gone) & ~np.isin(tokens, self._idle(tokens[held]))

    def beat(self, token: int) -> None:
        """Notes that the reader with `token`, of this process, has just done something."""
        self._pulses[token] = time.monotonic()
        if len(self._pulses) > _PULSES:
            # In the order in which they first did anything; one that still works beats again.
            for one in list(self._pulses)[: _PULSES // 2]:
                self._pulses.pop(one, None)

    def _idle(self, tokens: np.ndarray) -> np.ndarray:
        """Returns those of `tokens` whose readers, of this process, have stopped.

        Such a reader was given up (a call of train that ended, a pass that was not read on), or its
        rows are not asked for at the moment, as those of training while an evaluation runs.
        """
        limit = time.monotonic() - max(LEAST_IDLE, 4 * self._quickest)
        seen = ((token, self._pulses.get(int(token))) for token in np.unique(tokens))
        idle = [token for token, pulse in seen if pulse is not None and pulse < limit]
        return np.array(idle, np.uint64)

    def give_up(self, rows: np.ndarray) -> None:
        """Counts the readers that claimed `rows` as gone, so that nobody waits for them again.

        Most are: a call of train that ends leaves claims on the rows that it had under way. One
        that is merely slow makes its rows twice.
        """
        self._gone = np.union1d(self._gone, self.table[rows] >> _TIME_BITS)

    def drop(self, rows: np.ndarray) -> None:
        """Gives up the claims on `rows`."""
        self.table[rows] = 0

    def learn(self, seconds: float) -> None:
        """Adapts the patience to how long the rows of one block took to make."""
        if seconds:  # 0 for rows that nobody claimed
            self._quickest = min(self._quickest, seconds)
        wanted = min(MOST_PATIENCE, 4 * seconds)
        self.patience = max(LEAST_PATIENCE, wanted, 0.9 * self.patience)

    def since(self, rows: np.ndarray) -> float:
        """Returns the seconds since the oldest of the claims on `rows`."""
        stamps = self.table[rows]
        stamps = stamps[stamps != 0]
        if not len(stamps):
            return 0.0
        return float(self._now() - (stamps & _TIME_MASK).min()) / 1000

    def _now(self) -> np.uint64:
        return np.uint64(max(0, int((time.time() - self._epoch) * 1000))) & _TIME_MASK
