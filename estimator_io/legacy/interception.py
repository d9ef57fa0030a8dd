"""What is done differently while an input function runs in a scratch graph.

TensorFlow's own functions are replaced while any thread is inside `intercepted`, and put back
behind the last one. A replacement looks at the graph that it is called in: in any other than a
scratch graph it does what the function did that it replaces.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.legacy.internals import (
    dataset_ops,
    framework_ops,
    iterator_ops,
    random_seed,
    tensor_util,
)
from estimator_io.legacy.queues import rows_of
from estimator_io.legacy.scratch import LARGEST_CONSTANT, Scratch, scratch_of

__all__ = ["NeedsGraph", "intercepted", "trying_eagerly"]

_FEEDING = "tensorflow_estimator.python.estimator.inputs.queues.feeding_functions"


class NeedsGraph(BaseException):
    """An input function asked for an iterator whose elements are tensors of a graph."""


_LOCK = threading.RLock()
_INSIDE = 0
_ORIGINALS: list[tuple[Any, str, Any]] = []
_TRYING = threading.local()


@contextlib.contextmanager
def intercepted() -> Iterator[None]:
    """Puts the replacements in place as long as the context lasts."""
    global _INSIDE
    with _LOCK:
        if _INSIDE == 0:
            _install()
        _INSIDE += 1
    try:
        yield
    finally:
        with _LOCK:
            _INSIDE -= 1
            if _INSIDE == 0:
                _restore()


@contextlib.contextmanager
def trying_eagerly() -> Iterator[None]:
    """Has NeedsGraph raised where this thread makes a one-shot iterator outside of a graph."""
    _TRYING.on = True
    try:
        with intercepted():
            yield
    finally:
        _TRYING.on = False


def _install() -> None:
    v1_dataset = dataset_ops().DatasetV1
    _replace(framework_ops(), "_create_graph_constant", _constant)
    _replace(v1_dataset, "_make_one_shot_iterator", _one_shot)
    _replace(v1_dataset, "_make_initializable_iterator", _initializable)
    _replace(dataset_ops(), "_ensure_same_dataset_graph", _same_graph)
    feeding = sys.modules.get(_FEEDING)
    if feeding is not None:
        _replace(feeding, "_enqueue_data", _enqueue)


def _replace(owner: Any, name: str, make: Callable[[Any], Any]) -> None:
    original = getattr(owner, name)
    _ORIGINALS.append((owner, name, original))
    setattr(owner, name, make(original))


def _restore() -> None:
    while _ORIGINALS:
        owner, name, original = _ORIGINALS.pop()
        setattr(owner, name, original)


def _constant(original: Any) -> Any:
    def create_graph_constant(
        value: Any, dtype: Any, shape: Any, name: Any, verify_shape: Any, allow_broadcast: Any
    ) -> Any:
        graph = tf.compat.v1.get_default_graph()
        scratch = scratch_of(graph)
        if scratch is not None and (graph is scratch or hasattr(graph, "capture")):
            array = _large(value, dtype, shape, verify_shape, allow_broadcast)
            if array is not None:
                tensor = scratch.host_array(array, value if array is not value else None)
                return tensor if graph is scratch else graph.capture(tensor)
        return original(value, dtype, shape, name, verify_shape, allow_broadcast)

    return create_graph_constant


def _large(value: Any, dtype: Any, shape: Any, verify: Any, broadcast: Any) -> np.ndarray | None:
    """Returns the values of a constant that should not be in the graph, None for any other."""
    plain = isinstance(value, np.ndarray) and value.dtype.kind in "biufc"
    if plain and value.nbytes <= LARGEST_CONSTANT and shape is None:
        return None
    if plain and (shape is None or tuple(tf.TensorShape(shape).as_list()) == value.shape):
        wanted = None if dtype is None else tf.as_dtype(dtype).as_numpy_dtype
        if wanted is None or value.dtype == wanted:
            return value if value.nbytes > LARGEST_CONSTANT else None
    proto = tensor_util().make_tensor_proto(
        value, dtype=dtype, shape=shape, verify_shape=verify, allow_broadcast=broadcast
    )
    return tf.make_ndarray(proto) if proto.ByteSize() > LARGEST_CONSTANT else None


def _one_shot(original: Any) -> Any:
    def make_one_shot_iterator(dataset: Any) -> Any:
        if tf.executing_eagerly():
            if getattr(_TRYING, "on", False):
                raise NeedsGraph
            return original(dataset)
        scratch = scratch_of(tf.compat.v1.get_default_graph())
        if scratch is None:
            return original(dataset)
        random_seed().get_seed(None)  # a one-shot iterator takes one
        iterator = dataset._make_initializable_iterator()
        iterator.starts_itself = True
        return iterator

    return make_one_shot_iterator


def _initializable(original: Any) -> Any:
    def make_initializable_iterator(dataset: Any, shared_name: Any = None) -> Any:
        scratch = scratch_of(tf.compat.v1.get_default_graph())
        if tf.executing_eagerly() or scratch is None:
            return original(dataset, shared_name)
        iterator = original(dataset, shared_name)
        iterator.__class__ = _watched()
        scratch.iterators.append(iterator)
        return iterator

    return make_initializable_iterator


def _same_graph(original: Any) -> Any:
    def ensure_same_dataset_graph(dataset: Any) -> Any:
        graph = tf.compat.v1.get_default_graph()
        # What comes from outside was captured, and is rebuilt in the graph that it is used in.
        return None if isinstance(graph, Scratch) and graph.captures else original(dataset)

    return ensure_same_dataset_graph


def _watched() -> type:
    """Returns the class of iterators that know what was asked of them."""
    global _WATCHED
    with _LOCK:
        if _WATCHED is None:
            _WATCHED = _make_watched()
    return _WATCHED


_WATCHED: Any = None


def _make_watched() -> type:
    base = iterator_ops().Iterator

    class WatchedIterator(base):  # type: ignore[misc, valid-type]
        """An iterator that notes its elements, and whether its initializer was asked for."""

        starts_itself = False
        was_asked = False
        elements: Any = None
        queue = ""  # what it stands for, where that was one

        @property
        def initializer(self) -> Any:
            """The operation that starts the iterator."""
            self.was_asked = True
            return super().initializer

        def get_next(self, name: Any = None) -> Any:
            """Returns the next element, in tensors of the graph."""
            element = super().get_next(name)
            self.elements = [*(self.elements or []), element]
            return element

    return WatchedIterator


def _enqueue(original: Any) -> Any:
    def enqueue_data(data: Any, capacity: Any, **options: Any) -> Any:
        if not tf.executing_eagerly():
            scratch = scratch_of(tf.compat.v1.get_default_graph())
            rows = None if scratch is None else rows_of(data, **options)
            if rows is not None:
                return rows
        elif getattr(_TRYING, "on", False):
            raise NeedsGraph
        return original(data, capacity, **options)

    return enqueue_data
