"""Ends a process whose thread waits for ever in what it was given to call."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from estimator_io.runner.places import frame_place, frames_of_threads

__all__ = ["Watch"]


class Watch:
    """Ends the process, with exit code 2, where its thread stays inside of the watch for too long.

    Nothing else ends a call that never returns: Python cannot stop a thread.

    Args:
      seconds: that it may take.
      spell: returns the line to print, from the place that the thread stands at.
    """

    def __init__(self, seconds: float, spell: Callable[[str], str]) -> None:
        self._seconds, self._spell = seconds, spell
        self._timer: threading.Timer | None = None
        self._thread: int | None = None

    def __enter__(self) -> Watch:
        """Begins to watch the thread that calls it."""
        self._thread = threading.get_ident()
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
        place = frame_place(frames_of_threads().get(self._thread or 0))
        print(self._spell(place or "a line of a library"), file=sys.stderr, flush=True)
        sys.stdout.flush()
        os._exit(2)
