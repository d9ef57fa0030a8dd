"""A graph as nodes and functions by name: what depends on what, and what may run at any time."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterable
from typing import Any

from estimator_io.legacy.internals import array_of

__all__ = ["PYTHON_OPERATIONS", "Nodes", "function_name", "node_of"]

# Stateful for TensorFlow, which must not compute them beforehand; but each run gives the same.
_REPEATABLE = frozenset(
    {
        *("Assert", "LookupTableFindV2", "LookupTableSizeV2", "MatchingFiles", "ReadFile"),
        "TensorSummary",
    }
)
PYTHON_OPERATIONS = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc"})


class Nodes:
    """The nodes of a GraphDef, which may be changed in place.

    Attributes:
      graph_def: the graph.
      by_name: its nodes.
      functions: the functions that nodes refer to, by name.
      kept: what has to live as long as the graph.

    Args:
      graph_def: the graph.
    """

    def __init__(self, graph_def: Any) -> None:
        self.graph_def = graph_def
        self.kept: list[Any] = []
        self.by_name = {node.name: node for node in graph_def.node}
        self.functions = {
            function.signature.name: function for function in graph_def.library.function
        }

    def reachable(self, names: Iterable[str]) -> list[Any]:
        """Returns the nodes that the nodes or tensors `names` depend on, themselves included."""
        found: dict[str, Any] = {}
        waiting = [node_of(name) for name in names]
        while waiting:
            name = waiting.pop()
            if name in found:
                continue
            found[name] = self.by_name[name]
            waiting += [node_of(given) for given in found[name].input]
        return [node for node in self.graph_def.node if node.name in found]

    def takers(self, node: Any) -> list[Any]:
        """Returns the nodes that take an output of `node`."""
        return [
            one
            for one in self.graph_def.node
            if any(node_of(name) == node.name for name in one.input)
        ]

    def constant(self, tensor: str) -> Any:
        """Returns the value of a constant, None where `tensor` is computed."""
        node = self.by_name[node_of(tensor)]
        while node.op == "Identity" and len(node.input) == 1:
            node = self.by_name[node_of(node.input[0])]
        return array_of(node.attr["value"].tensor) if node.op == "Const" else None

    def add_constant(self, name: str, value: Any, dtype: Any) -> str:
        """Adds a constant, and returns the name of its tensor."""
        import tensorflow as tf

        name = self.free_name(name)
        node = self.graph_def.node.add(name=name, op="Const")
        node.attr["dtype"].type = tf.as_dtype(dtype).as_datatype_enum
        node.attr["value"].tensor.CopyFrom(tf.make_tensor_proto(value, dtype))
        self.by_name[name] = node
        return f"{name}:0"

    def free_name(self, name: str) -> str:
        """Returns a name that no node has."""
        number = 0
        while name in self.by_name:
            name, number = f"{name.rsplit('/eio_', 1)[0]}/eio_{number}", number + 1
        return name

    def state_in(self, function: str) -> str | None:
        """Returns the kind of an operation that makes calls of a function depend on each other.

        None where they do not, so that they may run at the same time.
        """
        return next(iter(self._states(function, set())), None)

    def copy_function(self, node: Any, suffix: str) -> Any:
        """Has `node` call a copy of its function, and returns the copy, which may be changed."""
        old = self.functions[node.attr["f"].func.name]
        copied = self.graph_def.library.function.add()
        copied.CopyFrom(old)
        copied.signature.name = f"{old.signature.name}_{suffix}"
        self.functions[copied.signature.name] = copied
        node.attr["f"].func.name = copied.signature.name
        return copied

    def states_in(self, function: str) -> list[str]:
        """Returns the kinds of all operations with a state in a function."""
        return self._states(function, set())

    def python_in(self, function: str) -> bool:
        """Whether a function calls Python."""
        return any(state in PYTHON_OPERATIONS for state in self._states(function, set()))

    def _states(self, function: str, seen: set[str]) -> list[str]:
        if function in seen or function not in self.functions:
            return []
        seen.add(function)
        found = []
        for node in self.functions[function].node_def:
            inner = [name for name in functions_of(node) if name in self.functions]
            states = [state for name in inner for state in self._states(name, seen)]
            if is_stateful(node) and not inner:
                states.append(node.op)
            found += states
        return found


def is_stateful(node: Any) -> bool:
    """Whether the runs of a node depend on each other."""
    if node.op in _REPEATABLE:
        return False
    registry = importlib.import_module("tensorflow.python.framework.op_def_registry")
    definition = registry.get(node.op)
    return definition is None or definition.is_stateful


def functions_of(node: Any) -> list[str]:
    """Returns the names of the functions that a node calls."""
    found = []
    for value in node.attr.values():
        if value.HasField("func"):
            found.append(value.func.name)
        found += [function.name for function in value.list.func]
    return found


def node_of(tensor: str) -> str:
    """Returns the name of the node behind "name:0", "name:output:0" or "^name"."""
    return tensor.lstrip("^").partition(":")[0]


def function_name(node: Any) -> str:
    """Returns the name that the function of a map had in Python, as far as it can be told."""
    names = functions_of(node)
    found = re.search(r"Dataset_[a-z_]+?_(\w+?)_\d+$", names[0]) if names else None
    return found.group(1) if found else "function"
