"""Rows kept in memory for as long as their source lives: shared by an InputFn and its copies."""

from __future__ import annotations

import contextlib
import os
import threading
import weakref
from typing import Any

from estimator_io.store.layout import Layout
from estimator_io.store.memory import MemoryRows

__all__ = ["default_limit", "kept_in_memory"]

_LOCK = threading.Lock()
# By source: copies of an InputFn have the same one, and nobody else has.
_KEPT: weakref.WeakKeyDictionary[Any, dict[str, MemoryRows]] = weakref.WeakKeyDictionary()


def kept_in_memory(
    source: Any, key: str, layout: Layout, total: int | None, limit: int | None
) -> MemoryRows:
    """Returns the rows of `source` with `key`.

    Args:
      source: whose rows they are; they go when it goes.
      key: what the rows depend on.
      layout: of a row.
      total: rows of the source; None where they are not known.
      limit: bytes of all rows of this source; None takes `default_limit`.
    """
    limit = default_limit() if limit is None else limit
    with _LOCK:
        kept = _KEPT.setdefault(source, {})
        rows = kept.get(key)
        if rows is None or rows.layout != layout:
            rows = kept[key] = MemoryRows(layout, total, limit)
        others = sum(other.nbytes for other in kept.values() if other is not rows)
        rows.limit = max(0, limit - others)
        return rows


def default_limit() -> int:
    """Returns half of the memory that this process may use, in bytes."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    with contextlib.suppress(OSError, ValueError), open("/sys/fs/cgroup/memory.max") as file:
        memory = min(memory, int(file.read()))
    return memory // 2
