"""Input functions where the loops of Keras want data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

__all__ = ["Inputs"]


class Inputs:
    """Input functions, and the Datasets that stand for them in the loops of Keras."""

    def __init__(self) -> None:
        self.current: dict[str, Any] = {}
        self._functions: list[tuple[Any, Callable[..., Any]]] = []

    def stand_in(self, data: Any) -> Any:
        """Returns `data`, or for an input function a Dataset of unknown length, never read."""
        if data is None or not callable(data):
            return data
        endless = tf.data.Dataset.range(2**62).filter(lambda _: True)
        self._functions.append((endless, data))
        return endless

    def function_of(self, data: Any) -> Callable[..., Any] | None:
        """Returns the input function that `data` stands for, if any."""
        return next((function for known, function in self._functions if known is data), None)

    def forget(self, mode: str) -> None:
        """Drops what the loop of `mode` used; another one may go on around it."""
        self.current.pop(mode, None)
        if not self.current:
            self._functions.clear()
