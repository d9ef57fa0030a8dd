"""What the rows of a legacy pipeline depend on, as the key of a generation of a store."""

from __future__ import annotations

import os
import re
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.legacy.blueprint import Blueprint
from estimator_io.legacy.internals import script_ops
from estimator_io.legacy.nodes import PYTHON_OPERATIONS, Nodes, functions_of, node_of
from estimator_io.plan.identity import digest

__all__ = ["key_of"]

_FORMAT = 1  # counted up whenever rows of the same key would have another meaning
_UNIQUE = re.compile(rb"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22}")  # in the names of tables


def key_of(blueprint: Blueprint, maps: list[Any], columns: list[np.ndarray]) -> str:
    """Returns the key of the rows that maps make of arrays.

    It depends on the arrays, on the files that their texts name, on the operations of the maps with
    all that they capture, on Python functions that they call, and on TensorFlow's version.

    Args:
      blueprint: of the graph.
      maps: the nodes of the maps.
      columns: the arrays.

    Raises:
      UnhashableError: a Python function cannot be told from another.
    """
    made = []
    for node in maps:
        number = len(node.attr["Targuments"].list.type)
        captured = [_value(blueprint, name) for name in node.input[1 : 1 + number]]
        made.append((_function(blueprint.nodes, node.attr["f"].func.name), captured))
    values = [_plain(column) for column in columns]
    return digest("legacy", _FORMAT, tf.__version__, values, _files(columns), made)


def _plain(array: np.ndarray) -> Any:
    return [bytes(text) for text in array.flat] if array.dtype.kind == "O" else array


def _value(blueprint: Blueprint, name: str) -> Any:
    """Returns what a captured tensor holds, or else how it is computed."""
    given = blueprint.given.get(name if ":" in name else f"{name}:0")
    if isinstance(given, np.ndarray):
        return _plain(given)
    nodes = []
    for node in blueprint.nodes.reachable([name]):
        array = blueprint.given.get(f"{node.name}:0")
        if isinstance(array, np.ndarray):
            nodes.append((node.name, _plain(array)))
        else:
            nodes.append(_node(blueprint.nodes, node))
    return nodes


def _function(nodes: Nodes, name: str, seen: tuple[str, ...] = ()) -> Any:
    """Returns what a function computes, without the names that differ from run to run."""
    if name in seen or name not in nodes.functions:
        return ("again", seen.index(name) if name in seen else name)
    function = nodes.functions[name]
    inner = (*seen, name)
    body = [_node(nodes, node, inner) for node in function.node_def]
    arguments = [argument.type for argument in function.signature.input_arg]
    results = [function.ret[one.name] for one in function.signature.output_arg]
    return (arguments, body, results)


def _node(nodes: Nodes, node: Any, seen: tuple[str, ...] = ()) -> Any:
    attributes = []
    for name in sorted(node.attr):
        if name == "token" and node.op in PYTHON_OPERATIONS:
            attributes.append(_python(node))
        elif name[0] != "_" and name != "metadata" and not functions_in(node.attr[name]):
            value = node.attr[name].SerializeToString(deterministic=True)
            attributes.append((name, _UNIQUE.sub(b"", value)))
    called = [_function(nodes, name, seen) for name in functions_of(node)]
    return (node_of(node.name), node.op, list(node.input), attributes, called)


def functions_in(value: Any) -> bool:
    """Whether the value of an attribute names functions."""
    return value.HasField("func") or bool(value.list.func)


def _python(node: Any) -> Any:
    given = script_ops()._py_funcs._funcs[node.attr["token"].s.decode()]
    function = given._func if node.op == "EagerPyFunc" else given
    return getattr(function, "__wrapped__", function)


def _files(columns: list[np.ndarray]) -> list[Any]:
    """Returns (path, bytes, time of change) of the texts that are paths of local files."""
    found = []
    for column in columns:
        for text in column.flat if column.dtype.kind in "OSU" else ():
            try:
                stat = os.stat(text)
            except (OSError, ValueError, TypeError):
                continue
            found.append((os.fsdecode(text), stat.st_size, stat.st_mtime_ns))
    return found
