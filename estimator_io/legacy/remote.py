"""What a worker process does for a Python function of somebody else's map. Loads no TensorFlow."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np

from estimator_io.workers.columns import as_array

__all__ = ["InWorker", "arrays_of"]


class _Tensor(np.ndarray):
    """An array with the method that functions of tf.py_function call on what they are given."""

    def numpy(self) -> Any:
        """Returns the value as a plain array, scalars as NumPy's."""
        return self.view(np.ndarray)[()]


class InWorker:
    """A Python function that takes arrays and returns its results as bytes, of any rank.

    Args:
      function: what the program's map calls.
      as_tensors: whether it expects tensors, as under tf.py_function, rather than arrays.
    """

    def __init__(self, function: Callable[..., Any], *, as_tensors: bool) -> None:
        self.function = function
        self.as_tensors = as_tensors

    def __call__(self, *values: Any) -> bytes:
        """Returns what the function returns, for `arrays_of`."""
        if self.as_tensors:
            values = tuple(np.asarray(value).view(_Tensor) for value in values)
        result = self.function(*values)
        results = list(result) if isinstance(result, (list, tuple)) else [result]
        arrays = [as_array(value) for value in results]
        return pickle.dumps(arrays, protocol=pickle.HIGHEST_PROTOCOL)


def arrays_of(data: bytes) -> list[np.ndarray]:
    """Returns the arrays that `InWorker` sent; only for what a worker of our own made."""
    return pickle.loads(data)
