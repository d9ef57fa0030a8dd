"""Ends what waits for ever: calls that are given up, and a program that never gets to its input."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from estimator_io.runner.places import frame_place, frames_of_threads

__all__ = ["Watch", "within"]


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Returns what a function returns, None where it takes longer; it is then left behind."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None


class Watch:
    """Ends the process, with exit code 2, where the main thread does nothing else for too long.

    Args:
      what: it is that runs in the main thread, for the message.
      seconds: that it may take.
    """

    def __init__(self, what: str, seconds: float) -> None:
        self._what, self._seconds = what, seconds
        self._timer: threading.Timer | None = None

    def __enter__(self) -> Watch:
        """Begins to watch."""
        self._timer = threading.Timer(self._seconds, self._end)
        self._timer.daemon = True
        self._timer.start()
        return self

    def __exit__(self, *exception: object) -> None:
        """Watches no more."""
        if self._timer is not None:
            self._timer.cancel()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Does not watch within it, and begins anew behind it."""
        self.__exit__()
        try:
            yield
        finally:
            self.__enter__()

    def _end(self) -> None:
        place = frame_place(frames_of_threads().get(threading.main_thread().ident or 0))
        print(
            f"estimator-io check: {self._what} has run for {self._seconds:g} s without handing an"
            f" input_fn over; it stands at {place or 'a line of a library'}. Mend what it waits for"
            " there, or give more time with --seconds: ten times as much goes to the program.",
            file=sys.stderr,
            flush=True,
        )
        os._exit(2)
