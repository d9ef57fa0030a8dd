"""Sample weights from a feature, scaled to the loss reduction of the Estimator's head.

Keras divides the weighted sum of the losses of a batch by its number of rows. Other reductions are
the same loss times a factor of the batch, which the weights can carry:

==========================  ==============================  =========================
loss_reduction              the loss of a batch             factor
==========================  ==============================  =========================
"sum_over_batch_size"       sum(w * loss) / rows            1
"sum_by_nonzero_weights"    sum(w * loss) / count(w != 0)   rows / count(w != 0)
"sum"                       sum(w * loss)                   rows
"mean"                      sum(w * loss) / sum(w)          rows / sum(w)
==========================  ==============================  =========================
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError, StructureError

__all__ = ["check_reduction", "column_name", "require_weights", "scaled"]

REDUCTIONS = ("sum_over_batch_size", "sum_by_nonzero_weights", "sum", "mean")


def column_name(weight_column: Any) -> str | None:
    """Returns the feature that a weight column names: a string, or a numeric_column."""
    if weight_column is None or isinstance(weight_column, str):
        return weight_column
    if getattr(weight_column, "normalizer_fn", None) is not None:
        raise OptionError(
            f"weight_column has a normalizer_fn, which is not run here. Received: {weight_column}."
            " Apply it in parse, and give the name of the feature."
        )
    return str(weight_column.key)


def check_reduction(reduction: str) -> None:
    """Refuses an unknown reduction.

    Raises:
      OptionError: naming those that are known.
    """
    if reduction not in REDUCTIONS:
        raise OptionError(
            f"Unknown loss_reduction. Received: {reduction!r}. Expected: one of"
            f" {', '.join(REDUCTIONS)}."
        )


def require_weights(name: str | None, spec: Any) -> None:
    """Refuses features that lack the weight column.

    Args:
      name: of the feature that holds the weights, or None.
      spec: the element spec of the features.

    Raises:
      StructureError: there is no such feature.
    """
    if name is not None and not (isinstance(spec, Mapping) and name in spec):
        known = ", ".join(sorted(spec)) if isinstance(spec, Mapping) else "one without a name"
        raise StructureError(
            f"There is no feature {name!r}, which weight_column names. Received the features:"
            f" {known}."
        )


def scaled(weights: Any, labels: Any, reduction: str) -> Any:
    """Returns the weights with which Keras's loss is that of `reduction`; None where 1 would do.

    Args:
      weights: [batch], or None for 1 each.
      labels: of the batch, for the number of its rows.
      reduction: one of the table above.
    """
    if reduction == "sum_over_batch_size" or (weights is None and reduction != "sum"):
        return weights
    rows = tf.shape(tf.nest.flatten(labels)[0])[0]
    count = tf.cast(rows, tf.float32)
    weights = tf.ones([rows]) if weights is None else tf.cast(weights, tf.float32)
    divisor = {
        "sum": tf.constant(1.0),
        "mean": tf.reduce_sum(weights),
        "sum_by_nonzero_weights": tf.math.count_nonzero(weights, dtype=tf.float32),
    }[reduction]
    return weights * tf.math.divide_no_nan(count, divisor)
