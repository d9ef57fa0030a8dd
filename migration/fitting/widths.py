"""Labels as wide as the output, where the loss compares them number by number.

Keras broadcasts labels [batch, 3] against an output [batch, 1] without a word: the loss is then
that of another task.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError
from migration.fitting.declared import Declared

__all__ = ["loss_of", "require_labels", "require_width"]

# Losses of Keras that compare labels and predictions number by number, by all their names.
_BY_NUMBER = {
    name.replace("_", "")
    for name in (
        *("mean_squared_error", "mse", "mean_absolute_error", "mae", "poisson", "hinge"),
        *("mean_absolute_percentage_error", "mape", "mean_squared_logarithmic_error", "msle"),
        *("squared_hinge", "categorical_hinge", "log_cosh", "huber", "huber_loss"),
        *("binary_crossentropy", "binary_focal_crossentropy", "categorical_crossentropy"),
        *("categorical_focal_crossentropy", "kl_divergence", "kld", "kullback_leibler_divergence"),
        *("cosine_similarity", "tversky", "dice"),
    )
}


def loss_of(model: Any, name: str, position: int) -> Any:
    """Returns the loss that a model was compiled with for an output; None where it is not certain.

    Args:
      model: a keras.Model.
      name: of the output.
      position: of the output among all.
    """
    kind, base = type(model), tf.keras.Model
    own = any(
        getattr(kind, method, None) is not getattr(base, method, None)
        for method in ("train_step", "compute_loss", "compiled_loss")
    )
    loss = None if own else getattr(model, "loss", None)
    if isinstance(loss, Mapping):
        return loss.get(name)
    if isinstance(loss, (list, tuple)):
        return loss[position] if position < len(loss) else None
    return loss


def require_labels(model: Any) -> None:
    """Refuses training data without labels for a model that was compiled with one loss for them.

    Raises:
      StructureError: naming the loss.
    """
    loss = loss_of(model, "", 0)
    if loss is not None:
        raise StructureError(
            f"The batches have no labels, and the model {model.name!r} was compiled with the loss"
            f" {_spelled(loss)}. Expected: (features, labels) of the input function in training."
        )


def require_width(shape: tf.TensorShape, output: Declared, loss: Any) -> None:
    """Refuses labels of another width than the output, for a loss that needs them equal.

    Args:
      shape: of the labels of a batch.
      output: what the model gives.
      loss: as `compile` took it.

    Raises:
      StructureError: naming both shapes and the loss.
    """
    wanted = output.shape
    if _name(loss) not in _BY_NUMBER or not shape.rank or not wanted.rank or wanted.rank < 2:
        return
    width = shape[-1] if shape.rank == wanted.rank else 1
    if shape.rank not in (wanted.rank, wanted.rank - 1) or None in (width, wanted[-1]):
        return
    if width != wanted[-1]:
        raise StructureError(
            f"The labels do not fit the output {output.name!r}. Received: labels"
            f" {shape.as_list()}. Expected: {[None, *wanted[1:]]}, since the loss"
            f" {_spelled(loss)} compares them number by number. Change the labels in parse, the"
            " width of the output, or the loss: class indices need a sparse one."
        )


def _name(loss: Any) -> str:
    return re.sub(r"_", "", _spelled(loss)).lower()


def _spelled(loss: Any) -> str:
    if isinstance(loss, str):
        return loss
    return getattr(loss, "__name__", None) or type(loss).__name__
