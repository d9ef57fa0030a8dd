"""Whether code runs in a TensorFlow 1 graph, and what is remembered about each such graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["GraphState", "in_tf1_graph", "replica_count"]


def in_tf1_graph() -> bool:
    """Returns whether operations go into a plain graph: not eager, not inside a tf.function."""
    import tensorflow as tf

    return not tf.executing_eagerly() and not tf.compat.v1.get_default_graph().building_function


def replica_count() -> int:
    """Returns how many replicas the current distribution strategy trains on."""
    import tensorflow as tf

    return tf.distribute.get_strategy().num_replicas_in_sync


class GraphState:
    """A value for each graph, made when first asked for and dropped with the graph."""

    def __init__(self, factory: Callable[[], Any]) -> None:
        """Takes what makes a graph's first value."""
        self._factory = factory
        self._values: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()

    def get(self) -> Any:
        """Returns the value of the current default graph."""
        import tensorflow as tf

        graph = tf.compat.v1.get_default_graph()
        if graph not in self._values:
            self._values[graph] = self._factory()
        return self._values[graph]
