"""The graph that an input function runs in before anything of it reaches the Estimator's graph.

It is a graph like any other, so that the function builds there what it would have built. Two things
differ: large constants become placeholders, whose values are kept on the side, and a one-shot
iterator, which would bury its Dataset in a function, becomes one that is initialised.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.legacy.internals import is_eager_tensor, random_seed

__all__ = ["LARGEST_CONSTANT", "Scratch", "scratch_of", "seeds_as_in"]

LARGEST_CONSTANT = 1000  # bytes of a constant that stays in the graph


class Scratch(tf.Graph):
    """A graph to try an input function in.

    Attributes:
      given: what the placeholders of this graph stand for, by the name of their tensors: arrays, or
        tensors from outside.
      iterators: the iterators that were made in it, in order.
      captures: whether tensors from outside may be used inside.
    """

    def __init__(self) -> None:
        super().__init__()
        self.given: dict[str, Any] = {}
        self.iterators: list[Any] = []
        self.captures = False
        self._arrays: dict[int, Any] = {}
        self._captured: dict[int, Any] = {}

    def open_to(self, outer: Any) -> None:
        """Lets tensors that were made outside be used inside, as TensorFlow does in functions.

        From here on TensorFlow makes variables in the outer graph, as it does for functions.

        Args:
          outer: the graph that this one stands for; None outside of graphs.
        """
        self.outer_graph = outer or tf.Graph()
        # TensorFlow asks this before it hands tensors from outside to `capture`.
        self._building_function = True
        self.captures = True

    def host_array(self, array: np.ndarray, kept: Any = None) -> Any:
        """Returns the placeholder that stands for `array`.

        Args:
          array: the values.
          kept: the object that the values came from, whose second use is the same placeholder.
        """
        key = id(array if kept is None else kept)
        if key not in self._arrays:
            tensor = self._placeholder(array.dtype, array.shape, "host_array")
            self.given[tensor.name] = array
            self._arrays[key] = (tensor, array, kept)  # keeps what the id belongs to
        return self._arrays[key][0]

    def capture(self, tensor: Any, name: str | None = None, shape: Any = None) -> Any:
        """Returns the placeholder that stands for a tensor from outside."""
        del name, shape
        if not is_eager_tensor(tensor) and tensor.graph is self:
            return tensor
        if id(tensor) not in self._captured:
            placeholder = self._placeholder(tensor.dtype, tensor.shape, "from_outside")
            self.given[placeholder.name] = tensor
            self._captured[id(tensor)] = (placeholder, tensor)
        return self._captured[id(tensor)][0]

    def _create_op_internal(self, op_type: str, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        """Makes an operation, as TensorFlow asks every graph to."""
        if self.captures:
            inputs = [self.capture(tensor) for tensor in inputs]
        return super()._create_op_internal(op_type, inputs, *args, **kwargs)

    def _placeholder(self, dtype: Any, shape: Any, name: str) -> Any:
        if not isinstance(dtype, tf.DType):
            dtype = tf.string if dtype.kind in "OSU" else tf.as_dtype(dtype)
        v1 = tf.compat.v1
        with self.as_default(), v1.name_scope(None), self.control_dependencies(None):
            return v1.placeholder(dtype, shape, name=name)


def scratch_of(graph: Any) -> Scratch | None:
    """Returns the scratch graph that `graph` is, or is a function in."""
    seen = 0
    while graph is not None and seen < 100:
        if isinstance(graph, Scratch):
            return graph
        graph, seen = getattr(graph, "outer_graph", None), seen + 1
    return None


class seeds_as_in:  # noqa: N801 - used as a function
    """Lets a scratch graph hand out the seeds that the graph it stands for would have handed out.

    Operations without a seed get one from their graph: its own seed, and how many were asked for.

    Args:
      outer: the graph that the function would have run in; None outside of graphs.
      scratch: the graph that it runs in.
    """

    def __init__(self, outer: Any, scratch: tf.Graph) -> None:
        self._outer, self._scratch = outer, scratch
        if outer is not None:
            scratch.seed = outer.seed
            if outer in _counts():
                _counts()[scratch] = _counts()[outer]

    def keep(self) -> None:
        """Has the outer graph go on from there, as if the function had run in it."""
        counts = _counts()
        if self._outer is not None and self._scratch in counts:
            counts[self._outer] = counts[self._scratch]


def _counts() -> Any:
    return random_seed()._graph_to_seed_dict
