"""Names of libraries as one spelling, however a program imports them."""

from __future__ import annotations

__all__ = ["CONVENTIONS", "canonical", "last"]

# Names that snippets use without an import (a notebook cell, a star import).
CONVENTIONS = {
    "tf": "tensorflow",
    "np": "numpy",
    "pd": "pandas",
    "tfds": "tensorflow_datasets",
}

_PREFIXES = (
    ("tensorflow.compat.v1.", "tensorflow."),
    ("tensorflow.compat.v2.", "tensorflow."),
    ("tensorflow_core.", "tensorflow."),
    ("tensorflow.python.data.ops.dataset_ops.", "tensorflow.data."),
    ("tensorflow.python.data.", "tensorflow.data."),
    ("tensorflow.contrib.data.Dataset", "tensorflow.data.Dataset"),
    ("tensorflow.data.DatasetV", "tensorflow.data.Dataset.V"),
    ("tensorflow_estimator.estimator.", "tensorflow.estimator."),
    ("tensorflow.python.estimator.", "tensorflow.estimator."),
    ("tensorflow.contrib.tpu.TPUEstimator", "tensorflow.estimator.tpu.TPUEstimator"),
)
_WHOLE = {
    "tensorflow.compat.v1": "tensorflow",
    "tensorflow.compat.v2": "tensorflow",
    "tensorflow_estimator.estimator": "tensorflow.estimator",
    "tensorflow_estimator.python.estimator.estimator_lib": "tensorflow.estimator",
    "tensorflow.python.estimator": "tensorflow.estimator",
}


def canonical(name: str) -> str:
    """Returns the one spelling of a qualified name: "tensorflow.data.Dataset" for all its paths."""
    if name in _WHOLE:
        return _WHOLE[name]
    if not name.startswith("tensorflow"):
        return name
    for prefix, replacement in _PREFIXES:
        if name.startswith(prefix):
            name = replacement + name[len(prefix) :]
    return name.replace("Dataset.V1", "Dataset").replace("Dataset.V2", "Dataset")


def last(name: str) -> str:
    """Returns what stands behind the last dot."""
    return name.rpartition(".")[2]
