"""Keras 3 layers made outside a model_fn are refused at their first use inside one.

An Estimator calls its model_fn once for each graph it builds. A layer that outlives the call holds
variables of one graph only: it would train, and then fail to evaluate.
"""

from __future__ import annotations

import functools
import importlib
from typing import Any
from weakref import WeakKeyDictionary, ref

from estimator_io.compat.journal import Journal
from estimator_io.compat.keras3.graph import in_tf1_graph
from estimator_io.errors import CompatibilityError

__all__ = ["refuse_foreign_layers"]

# The graph each layer was made in, for those made in the graph of an Estimator.
_birthplaces: WeakKeyDictionary[Any, Any] = WeakKeyDictionary()


def refuse_foreign_layers(journal: Journal) -> None:
    """Makes a layer that has variables refuse to run in another graph than its own."""
    layer: Any = importlib.import_module("keras").Layer
    journal.set_attribute(layer, "__init__", _remembering_graph(layer.__init__))
    journal.set_attribute(layer, "__call__", _checking_graph(layer.__call__))


def _current_graph() -> Any:
    import tensorflow as tf

    return tf.compat.v1.get_default_graph()


def _remembering_graph(original: Any) -> Any:
    @functools.wraps(original)
    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        original(self, *args, **kwargs)
        if in_tf1_graph():
            _birthplaces[self] = ref(_current_graph())

    # Keras reads both signature and argspec of a constructor; only the first follows this link, and
    # where the two differ a bare Layer cannot be made.
    del __init__.__wrapped__  # pyright: ignore[reportFunctionMemberAccess]
    return __init__


def _checking_graph(original: Any) -> Any:
    @functools.wraps(original)
    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: N807
        foreign = in_tf1_graph() and not _is_at_home(self)
        # A layer without weights, or without any yet, may run: only its call shows which it is.
        outputs = None if foreign and self.variables else original(self, *args, **kwargs)
        if foreign and self.variables:
            raise CompatibilityError(
                f"The Keras 3 layer {self.name!r} was made outside of the model_fn that calls it, "
                "so its weights belong to another graph; make it inside the model_fn."
            )
        return outputs

    return __call__


def _is_at_home(layer: Any) -> bool:
    birthplace = _birthplaces.get(layer)
    return birthplace is not None and birthplace() is _current_graph()
