"""Puts rebuilt modules where TensorFlow once had its own, and only where it has none."""

from __future__ import annotations

import importlib
import importlib.util
import re
from types import ModuleType

from estimator_io.compat.journal import Journal

__all__ = ["supply_api_names", "supply_modules", "supply_tpu_parameters"]

_REBUILT = {
    "tensorflow.python.distribute.estimator_training": "estimator_training",
    "tensorflow.python.tpu.session_support": "session_support",
    "tensorflow.python.tpu.tpu_embedding": "tpu_embedding",
    "tensorflow.python.tpu.tpu_embedding_gradient": "tpu_embedding_gradient",
}
_ESTIMATOR = "estimator"


def supply_modules(journal: Journal) -> None:
    """Enters every module that this TensorFlow lacks under its old name."""
    for name, rebuilt in _REBUILT.items():
        if importlib.util.find_spec(name) is None:
            importlib.import_module(name.rpartition(".")[0])
            module = importlib.import_module(f"estimator_io.compat.rebuilt.{rebuilt}")
            journal.set_module(name, module)


def supply_api_names(journal: Journal) -> None:
    """Teaches TensorFlow's export registry the API name "estimator" again."""
    from tensorflow.python.util import tf_export

    if hasattr(tf_export, "ESTIMATOR_API_NAME"):
        return
    journal.set_attribute(tf_export, "ESTIMATOR_API_NAME", _ESTIMATOR)
    for registry, suffix in ((tf_export.API_ATTRS, ""), (tf_export.API_ATTRS_V1, "_v1")):
        attributes = tf_export._Attributes(
            f"_estimator_api_names{suffix}", f"_estimator_api_constants{suffix}"
        )
        journal.set_item(registry, _ESTIMATOR, attributes)
    subpackages = [*tf_export.SUBPACKAGE_NAMESPACES, _ESTIMATOR]
    journal.set_attribute(tf_export, "SUBPACKAGE_NAMESPACES", subpackages)
    for getter, attribute in (
        ("get_v1_names", "_estimator_api_names_v1"),
        ("get_v2_names", "_estimator_api_names"),
    ):
        _add_names(journal, tf_export, getter, attribute)
    for getter, attribute in (
        ("get_v1_constants", "_estimator_api_constants_v1"),
        ("get_v2_constants", "_estimator_api_constants"),
    ):
        _add_names(journal, tf_export, getter, attribute)


def _add_names(journal: Journal, tf_export: ModuleType, getter: str, attribute: str) -> None:
    original = getattr(tf_export, getter)

    def with_estimator_names(symbol: object) -> list[str]:
        own = getattr(symbol, "__dict__", {})
        return [*original(symbol), *own.get(attribute, ())]

    journal.set_attribute(tf_export, getter, with_estimator_names)


def supply_tpu_parameters(journal: Journal, v1_modules: list[ModuleType]) -> None:
    """Gives `tf.compat.v1.tpu.experimental` its embedding parameters back."""
    tpu_embedding = importlib.import_module("tensorflow.python.tpu.tpu_embedding")
    names = [name for name in vars(tpu_embedding) if re.fullmatch(r"[A-Z]\w+Parameters", name)]
    for experimental in (module.tpu.experimental for module in v1_modules):
        for name in names:
            if not hasattr(experimental, name):
                journal.set_attribute(experimental, name, getattr(tpu_embedding, name))
