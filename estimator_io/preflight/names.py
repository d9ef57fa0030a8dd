"""The names of what a look can find. Imports nothing."""

from __future__ import annotations

__all__ = ["CASES"]

CASES = (
    "arrays in the graph",
    "augmentation frozen",
    "cache lock",
    "corrupt record",
    "duplicates",
    "empty input",
    "endless evaluation",
    "eval rebuilt",
    "labels",
    "one class",
    "order frozen",
    "restart",
    "slow map",
    "spent",
    "stale cache",
    "stalled",
    "structure",
    "values",
)
