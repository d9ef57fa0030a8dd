"""Keras 3 models are refused by model_to_estimator, with the way out."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from estimator_io.compat.journal import Journal
from estimator_io.errors import CompatibilityError

__all__ = ["refuse_models"]


def refuse_models(journal: Journal) -> None:
    """Makes model_to_estimator say what to do with a Keras 3 model."""
    keras_lib: Any = importlib.import_module("tensorflow_estimator.python.estimator.keras_lib")
    model_class = importlib.import_module("keras").Model
    original = keras_lib.model_to_estimator

    @functools.wraps(original)
    def model_to_estimator(keras_model: Any = None, *args: Any, **kwargs: Any) -> Any:
        if isinstance(keras_model, model_class):
            raise CompatibilityError(
                f"model_to_estimator takes Keras 2 models, and {type(keras_model).__name__!r} is "
                "one of Keras 3; build and compile it with `import tf_keras` in place of tf.keras, "
                "or train it with model.fit."
            )
        return original(keras_model, *args, **kwargs)

    journal.set_attribute(keras_lib, "model_to_estimator", model_to_estimator)
