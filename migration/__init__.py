"""Adapters that carry an Estimator program to Keras model.fit.

Every name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migration.compare.comparing import compare
    from migration.datasets import to_dataset
    from migration.model_fn.model import ModelFnModel

_HOMES = {
    "ModelFnModel": "model_fn.model",
    "compare": "compare.comparing",
    "to_dataset": "datasets",
}

__all__ = ["ModelFnModel", "compare", "to_dataset"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
