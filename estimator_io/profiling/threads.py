"""The threads of a profile: all that were started in it have ended when it returns."""

from __future__ import annotations

import contextvars
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["joined", "start"]

NAME = "estimator-io-profile"
# A thread ends with the element that it waits for; one that never comes is not waited for longer.
PATIENCE_SECONDS, PATIENCE_AFTER_ERRORS_SECONDS = 15.0, 1.0

_STARTED: contextvars.ContextVar[list[threading.Thread] | None] = contextvars.ContextVar(
    "_STARTED", default=None
)


@contextmanager
def joined(patience: float = PATIENCE_SECONDS) -> Iterator[None]:
    """Waits in the end for the threads that `start` began inside of it, all together so long."""
    started: list[threading.Thread] = []
    token = _STARTED.set(started)
    try:
        yield
    except BaseException:
        patience = min(
            patience, PATIENCE_AFTER_ERRORS_SECONDS
        )  # it may come from one that is stuck
        raise
    finally:
        _STARTED.reset(token)
        end = time.monotonic() + patience
        for thread in started:
            thread.join(max(0.0, end - time.monotonic()))


def start(work: Callable[[], object]) -> threading.Thread:
    """Returns a thread that does `work` and was started."""
    thread = threading.Thread(target=work, name=NAME, daemon=True)
    thread.start()
    started = _STARTED.get()
    if started is not None:
        started.append(thread)
    return thread
