"""Adapters that carry an Estimator program to Keras model.fit.

Every name below is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from migration.arguments import fit_arguments
    from migration.callbacks.to_callback import to_callback
    from migration.callbacks.to_hook import to_hook
    from migration.compare.comparing import compare
    from migration.datasets import to_dataset
    from migration.exporters import BestExporter, FinalExporter, LatestExporter
    from migration.loop.train import train_and_evaluate
    from migration.model_fn.model import ModelFnModel
    from migration.strategies import run_config_to_strategy
    from migration.weights.loading import load_estimator_weights

_HOMES = {
    "BestExporter": "exporters",
    "FinalExporter": "exporters",
    "LatestExporter": "exporters",
    "ModelFnModel": "model_fn.model",
    "compare": "compare.comparing",
    "fit_arguments": "arguments",
    "load_estimator_weights": "weights.loading",
    "run_config_to_strategy": "strategies",
    "to_callback": "callbacks.to_callback",
    "to_dataset": "datasets",
    "to_hook": "callbacks.to_hook",
    "train_and_evaluate": "loop.train",
}

__all__ = [
    "BestExporter",
    "FinalExporter",
    "LatestExporter",
    "ModelFnModel",
    "compare",
    "fit_arguments",
    "load_estimator_weights",
    "run_config_to_strategy",
    "to_callback",
    "to_dataset",
    "to_hook",
    "train_and_evaluate",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
