"""How far the Estimator may go ahead of the loop of Keras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

__all__ = ["StepsAhead"]


class StepsAhead:
    """Says before each step how many may follow it, while Keras is busy with its loop.

    Only where nothing can look at the model between two steps: an input function gives the batches,
    there is no callback of the user's, and it is known when the epoch ends.

    Args:
      arguments: of `fit`.
      in_graph: whether an input function gives the batches.
    """

    most = 2  # more would gain nothing, since the loop is shorter than a step

    def __init__(self, arguments: Mapping[str, Any], in_graph: bool) -> None:
        steps = arguments.get("steps_per_epoch")
        alone = in_graph and not arguments.get("callbacks") and isinstance(steps, int)
        self._steps = steps if alone and steps else 0
        self._taken = 0

    def next(self) -> int:
        """Returns how many steps may follow the next one before Keras asks for them."""
        if not self._steps:
            return 0
        self._taken += 1
        return min(self.most, -self._taken % self._steps)
