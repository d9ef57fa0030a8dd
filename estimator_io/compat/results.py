"""Results that print as they did under NumPy 1: `{'loss': 0.25}`, not `np.float32(0.25)`.

The values stay NumPy scalars of the same dtype. Only their repr differs, which is what printing a
dictionary shows.
"""

from __future__ import annotations

import functools
from collections.abc import Iterator
from typing import Any

import numpy as np

from estimator_io.compat.journal import Journal

__all__ = ["plain", "print_plainly"]


@functools.cache
def _plain_type(scalar_type: type) -> type:
    namespace = {"__repr__": scalar_type.__str__, "__module__": __name__, "__slots__": ()}
    return type(f"plain_{scalar_type.__name__}", (scalar_type,), namespace)


def plain(value: Any) -> Any:
    """Returns a value whose NumPy scalars, also inside dicts, lists and tuples, print plainly."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if type(value) in (list, tuple):
        return type(value)(plain(item) for item in value)
    if isinstance(value, np.bool_):
        return bool(value)  # NumPy's bool cannot be subclassed
    if isinstance(value, np.number) and type(value).__module__ == "numpy":
        return _plain_type(type(value))(value)
    return value


def print_plainly(journal: Journal, estimator_class: type) -> None:
    """Makes evaluate() and predict() of an Estimator class give plainly printing values.

    Under NumPy 1 nothing is changed, since its scalars print plainly themselves.
    """
    if int(np.__version__.partition(".")[0]) < 2:
        return
    owner: Any = estimator_class
    evaluate_run, predict = owner._evaluate_run, owner.predict

    @functools.wraps(evaluate_run)
    def plain_evaluate_run(*args: Any, **kwargs: Any) -> Any:
        return plain(evaluate_run(*args, **kwargs))

    @functools.wraps(predict)
    def plain_predict(*args: Any, **kwargs: Any) -> Iterator[Any]:
        for prediction in predict(*args, **kwargs):
            yield plain(prediction)

    journal.set_attribute(owner, "_evaluate_run", plain_evaluate_run)
    journal.set_attribute(owner, "predict", plain_predict)
