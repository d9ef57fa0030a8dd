"""Data that never ends, or has no batch, where its length is known before it is read."""

from __future__ import annotations

import tensorflow as tf

from estimator_io.errors import NoDataError, SourceError

__all__ = ["require_evaluation"]


def require_evaluation(batches: int, steps: int | None, option: str = "EvalSpec.steps") -> None:
    """Refuses the data of an evaluation that would have no end, or no batch.

    Args:
      batches: the cardinality of the Dataset, which may be unknown.
      steps: that it takes at most; None takes all.
      option: that says so.

    Raises:
      SourceError: steps is None, and the data never ends.
      NoDataError: there is no batch.
    """
    if steps is None and batches == tf.data.INFINITE_CARDINALITY:
        raise SourceError(
            f"The evaluation would never end: its data is endless, and {option} is None. Set"
            " steps, or take repeat() out of the input function."
        )
    if batches == 0:
        raise NoDataError(
            "The evaluation had no batch. Expected: at least one. Look at what the input function"
            " returns in mode 'eval'."
        )
