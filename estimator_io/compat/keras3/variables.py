"""Variables of Keras 3 layers, handed to the optimizers of TensorFlow 1 and of Keras 2.

Those know TensorFlow's own variables alone, one of which stands inside each variable of Keras 3.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any

from estimator_io.compat.journal import Journal

__all__ = ["unwrap_variables"]


def unwrap_variables(journal: Journal) -> None:
    """Makes the optimizers that model_fns use take the variables of Keras 3 layers."""
    v1: Any = importlib.import_module("tensorflow.python.training.optimizer").Optimizer
    keras2: Any = importlib.import_module("tf_keras").optimizers.legacy.Optimizer
    for owner, method in (
        (v1, "compute_gradients"),
        (v1, "apply_gradients"),
        (keras2, "get_gradients"),
        (keras2, "get_updates"),
        (keras2, "apply_gradients"),
    ):
        journal.set_attribute(owner, method, _unwrapping(getattr(owner, method)))


def _unwrapping(original: Any) -> Any:
    @functools.wraps(original)
    def with_tensorflow_variables(self: Any, *args: Any, **kwargs: Any) -> Any:
        inner = [_inner(argument) for argument in args]
        return original(self, *inner, **{key: _inner(value) for key, value in kwargs.items()})

    return with_tensorflow_variables


def _inner(value: Any) -> Any:
    """Returns a variable, or a list of variables or of (gradient, variable), unwrapped."""
    keras_variable = importlib.import_module("keras.src.backend.common").KerasVariable
    if isinstance(value, keras_variable):
        return value.value
    if isinstance(value, (list, zip)) or type(value) is tuple:
        return [tuple(map(_inner, v)) if type(v) is tuple else _inner(v) for v in value]
    return value
