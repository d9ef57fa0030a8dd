"""Names of Keras 2 that Estimator programs use and that tf.keras and tf.compat.v1 lost.

A name is supplied only where Keras 3 has none, or has one that does nothing but raise; nothing
that works in Keras 3 is replaced.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import Any

from estimator_io.compat.journal import Journal

__all__ = ["supply_keras_names", "supply_v1_names"]

_ADDED = {
    "losses": ["Reduction"],
    "layers": ["DenseFeatures"],
}
_ADDED_MODULES = ["estimator", "experimental"]


def supply_v1_names(journal: Journal, v1_modules: list[ModuleType]) -> None:
    """Gives every tf.compat.v1 its `layers` and `nn.rnn_cell` back, from tf_keras."""
    legacy = "tf_keras.api._v1.keras.__internal__.legacy"
    layers = importlib.import_module(f"{legacy}.layers")
    rnn_cell = importlib.import_module(f"{legacy}.rnn_cell")
    for module in v1_modules:
        if hasattr(module, "layers"):
            journal.set_attribute(module, "layers", layers)
            journal.set_attribute(module.nn, "rnn_cell", rnn_cell)


def supply_keras_names(journal: Journal) -> None:
    """Gives Keras 3's tf.keras the Keras 2 names that only Estimators take."""
    keras3: Any = importlib.import_module("keras._tf_keras.keras")
    keras2: Any = importlib.import_module("tf_keras.api._v2.keras")
    for name in _ADDED_MODULES:
        if not hasattr(keras3, name):
            journal.set_attribute(keras3, name, getattr(keras2, name))
    for submodule, names in _ADDED.items():
        for name in names:
            if not hasattr(getattr(keras3, submodule), name):
                value = getattr(getattr(keras2, submodule), name)
                journal.set_attribute(getattr(keras3, submodule), name, value)
    _supply_legacy_optimizers(journal, keras3.optimizers.legacy, keras2.optimizers.legacy)


def _supply_legacy_optimizers(journal: Journal, stubs: ModuleType, working: ModuleType) -> None:
    # Keras 3 keeps these names as one class that raises when it is called.
    for name in dir(working):
        if isinstance(getattr(working, name), type) and hasattr(stubs, name):
            journal.set_attribute(stubs, name, getattr(working, name))
