"""Conditions on rows."""

from __future__ import annotations


def condition(*element, predicate):
    """Returns `predicate(*element)`, which must depend on the row.

    In a graph of the old kind, such as the Estimator's, `==` and `!=` between tensors compare the
    Python objects, not their values, and give one answer for all rows.
    """
    result = predicate(*element)
    if isinstance(result, bool):
        raise TypeError(
            f"it returned the Python value {result} for every row. In the Estimator's graph == and"
            " != compare tensors as objects: use tf.equal and tf.not_equal."
        )
    return result
