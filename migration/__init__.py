"""Adapters that carry an Estimator program to Keras model.fit.

Every name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migration.callbacks.to_callback import to_callback
    from migration.callbacks.to_hook import to_hook
    from migration.datasets import to_dataset
    from migration.model_fn.model import ModelFnModel

_HOMES = {
    "ModelFnModel": "model_fn.model",
    "to_callback": "callbacks.to_callback",
    "to_dataset": "datasets",
    "to_hook": "callbacks.to_hook",
}

__all__ = ["ModelFnModel", "to_callback", "to_dataset", "to_hook"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
