"""Reads a few elements of a plan, apart from the program's own graph and session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.plan.calls import Plan

__all__ = ["first_elements", "leaves_of", "row_counts", "spec_of"]


def first_elements(plan: Plan, most: int) -> list[Any]:
    """Returns the first `most` elements of `plan` as NumPy values, in the structure they have."""
    if tf.executing_eagerly():
        return list(plan.build().take(most).as_numpy_iterator())
    v1: Any = tf.compat.v1
    elements = []
    with tf.Graph().as_default():
        iterator = v1.data.make_initializable_iterator(plan.build().take(most))
        element = iterator.get_next()
        with _session() as session:
            initializers = [v1.global_variables_initializer(), v1.tables_initializer()]
            session.run([*initializers, iterator.initializer])
            while True:
                try:
                    elements.append(session.run(element))
                except tf.errors.OutOfRangeError:
                    return elements


def spec_of(plan: Plan) -> Any:
    """Returns the element spec of `plan`; nothing is read."""
    with tf.Graph().as_default():
        return plan.unread().build().element_spec


def leaves_of(element: Any) -> Iterator[tuple[str, np.ndarray]]:
    """Yields (path, array) for each tensor of an element that was read, parts of sparse ones too.

    Paths name parts as people do: features['x'], labels, weights.
    """
    for path, array, _ in _walked(element):
        yield path, array


def row_counts(element: Any) -> Iterator[tuple[str, int | None]]:
    """Yields (path, rows) for each tensor of a batch that was read; None where it is one value.

    A ragged or sparse tensor has other rows than values.
    """
    for path, _, rows in _walked(element):
        yield path, rows


def _walked(element: Any) -> Iterator[tuple[str, np.ndarray, int | None]]:
    parts = (
        element if isinstance(element, tuple) and not hasattr(element, "_fields") else (element,)
    )
    for name, part in zip(("features", "labels", "weights"), parts, strict=False):
        yield from _walk(name, part)


def _walk(path: str, value: Any) -> Iterator[tuple[str, np.ndarray, int | None]]:
    if isinstance(value, dict):
        for key in value:
            yield from _walk(f"{path}[{key!r}]", value[key])
    elif hasattr(value, "flat_values"):  # a ragged tensor
        yield path, np.asarray(value.flat_values), len(value.row_splits) - 1
    elif hasattr(value, "dense_shape"):  # a sparse one
        yield path, np.asarray(value.values), int(np.asarray(value.dense_shape)[0])
    elif isinstance(value, (tuple, list)):
        for at, item in enumerate(value):
            yield from _walk(f"{path}[{at}]", item)
    else:
        array = np.asarray(value)
        yield path, array, array.shape[0] if array.ndim else None


def _session() -> Any:
    # A look must not claim the memory of an accelerator that training is about to use.
    v1: Any = tf.compat.v1
    return v1.Session(config=v1.ConfigProto(device_count={"GPU": 0}))
