"""A journal of changes to foreign modules, so that every one of them can be taken back."""

from __future__ import annotations

import sys
from collections.abc import Callable, MutableMapping
from importlib.abc import MetaPathFinder
from types import ModuleType
from typing import Any

__all__ = ["Journal"]

_ABSENT = object()


class Journal:
    """Records changes as it makes them; `undo` restores the state before the first of them."""

    def __init__(self) -> None:
        """Starts empty."""
        self._undo: list[Callable[[], None]] = []

    def set_attribute(self, owner: Any, name: str, value: Any) -> None:
        """Sets an attribute of a module or class; undone only while nobody else has set it."""
        before = getattr(owner, name, _ABSENT)
        setattr(owner, name, value)

        def restore() -> None:
            if getattr(owner, name, _ABSENT) is not value:
                return
            if before is _ABSENT:
                delattr(owner, name)
            else:
                setattr(owner, name, before)

        self._undo.append(restore)

    def set_item(self, mapping: MutableMapping[Any, Any], key: Any, value: Any) -> None:
        """Sets an item of a mapping; undone only while nobody else has set it."""
        before = mapping.get(key, _ABSENT)
        mapping[key] = value

        def restore() -> None:
            if mapping.get(key, _ABSENT) is not value:
                return
            if before is _ABSENT:
                del mapping[key]
            else:
                mapping[key] = before

        self._undo.append(restore)

    def set_module(self, name: str, module: ModuleType) -> None:
        """Enters a module in `sys.modules` and on its parent package."""
        self.set_item(sys.modules, name, module)
        parent, _, child = name.rpartition(".")
        if parent in sys.modules:
            self.set_attribute(sys.modules[parent], child, module)

    def add_finder(self, finder: MetaPathFinder) -> None:
        """Puts a finder before all others, since those would answer first with a failure."""
        sys.meta_path.insert(0, finder)
        self.on_undo(lambda: sys.meta_path.remove(finder) if finder in sys.meta_path else None)

    def on_undo(self, action: Callable[[], None]) -> None:
        """Runs an action when the journal is undone."""
        self._undo.append(action)

    def undo(self) -> None:
        """Takes every change back, the last one first."""
        while self._undo:
            self._undo.pop()()
