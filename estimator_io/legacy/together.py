"""Single calls that come from many threads at once, made as few calls for several rows.

A map of a legacy pipeline calls Python once a row. A row on its way to a worker process costs as
much as a short function; several rows cost little more. So calls that wait at the same moment
travel together: whoever finds fewer leaders than there may be takes some of what waits, makes one
call for all of it, and hands the lead on to the next that waits.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from estimator_io.errors import RowError
from estimator_io.workers.columns import as_array

__all__ = ["Together"]

MOST_ROWS = 16
# Rows that take longer than this in all gain nothing from travelling together, and would keep
# another worker waiting for something to do.
MOST_SECONDS = 0.01


class _Call:
    """One row on its way.

    Args:
      arrays: what the function takes.
    """

    def __init__(self, arrays: Sequence[Any]) -> None:
        self.arrays = [as_array(array) for array in arrays]
        self.layout = tuple((array.dtype.str, array.shape) for array in self.arrays)
        self.woken = threading.Event()
        self.leads = False
        self.answered = False
        self.result: Any = None
        self.error: BaseException | None = None

    def answer(self, result: Any = None, error: BaseException | None = None) -> None:
        """Has the thread of the call go on."""
        self.result, self.error, self.answered = result, error, True
        self.woken.set()


class Together:
    """Makes single calls of a function for several rows, in whatever thread they come.

    Args:
      make: takes for each argument an array over rows, and the number of rows; returns a result for
        each row. It raises RowError where the function failed on one, and is then called for each
        row alone.
      leaders: calls of `make` at once.
    """

    def __init__(
        self, make: Callable[[list[np.ndarray], int], Sequence[Any]], leaders: int
    ) -> None:
        self._make = make
        self._free = leaders  # that nobody is
        self._leaders = leaders
        self._lock = threading.Lock()
        self._waiting: list[_Call] = []
        self._seconds_a_row = MOST_SECONDS

    def __call__(self, *arrays: Any) -> Any:
        """Returns the result for one row.

        Raises:
          RowError: the function failed on it.
        """
        call = _Call(arrays)
        with self._lock:
            self._waiting.append(call)
            if self._free:
                self._free -= 1
                self._hand_on()
        while not call.answered:
            call.woken.wait()
            with self._lock:
                leads, call.leads = call.leads, False
                if not call.answered:
                    call.woken.clear()
            if leads:
                self._lead()
        with self._lock:
            if call.leads:  # it was chosen, and answered by another one before it woke
                self._hand_on()
        if call.error is not None:
            raise call.error
        return call.result

    def _lead(self) -> None:
        with self._lock:
            calls = self._take()
        try:
            self._answer(calls)
        finally:
            with self._lock:
                self._hand_on()

    def _hand_on(self) -> None:
        """Lets a call that waits lead, if there is one; with the lock held."""
        for call in self._waiting:
            if not call.leads:
                call.leads = True
                call.woken.set()
                return
        self._free += 1

    def _take(self) -> list[_Call]:
        """Takes calls of one layout off those that wait; with the lock held."""
        rows = min(MOST_ROWS, int(MOST_SECONDS / max(self._seconds_a_row, 1e-9)))
        rows = max(1, min(rows, -(-len(self._waiting) // self._leaders)))
        taken: list[_Call] = []
        for call in self._waiting[:rows]:
            if taken and call.layout != taken[0].layout:
                break
            taken.append(call)
        del self._waiting[: len(taken)]
        for call in taken:
            if call.leads:
                call.leads = False
                self._hand_on()
        return taken

    def _answer(self, calls: list[_Call]) -> None:
        if not calls:
            return
        began = time.perf_counter()
        try:
            results = self._make(_columns(calls), len(calls))
        except RowError as error:
            if len(calls) == 1:
                calls[0].answer(error=error)
                return
            for call in calls:  # the others are as good as if they had come alone
                self._answer([call])
        except BaseException as error:
            for call in calls:
                call.answer(error=error)
        else:
            took = (time.perf_counter() - began) / len(calls)
            self._seconds_a_row += 0.2 * (took - self._seconds_a_row)
            for call, result in zip(calls, results, strict=True):
                call.answer(result)


def _columns(calls: Sequence[_Call]) -> list[np.ndarray]:
    """Returns each argument of the calls as an array over them."""
    return [np.stack(arrays) for arrays in zip(*(call.arrays for call in calls), strict=True)]
