"""Calls that are given up where they take too long."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

__all__ = ["within"]


def within(seconds: float, function: Callable[[], Any]) -> Any:
    """Returns what a function returns, None where it takes longer; it is then left behind."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(function()), daemon=True)
    thread.start()
    thread.join(seconds)
    return found[0] if found else None
