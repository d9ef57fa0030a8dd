"""What is inside a function that tf.data has traced, and where its code stands."""

from __future__ import annotations

import dataclasses
import functools
import os
import sys
from typing import Any

__all__ = ["Contents", "caller", "code_place", "contents"]

_PYTHON = frozenset({"PyFunc", "PyFuncStateless", "EagerPyFunc", "EagerPyFuncStateless"})
# TensorFlow looks over these when it asks whether a map may become parallel.
_HARMLESS = frozenset({"Assert", "NoOp"})
# What is called once more, or in another order, leaves other values behind.
_WRITING = (
    "Assign",
    "LookupTableImport",
    "LookupTableInsert",
    "LookupTableRemove",
    "QueueDequeue",
    "QueueEnqueue",
    "ResourceApply",
    "ResourceScatter",
    "ResourceStridedSliceAssign",
    "ScatterAdd",
    "ScatterSub",
    "ScatterUpdate",
    "WriteFile",
)


@dataclasses.dataclass(frozen=True)
class Contents:
    """The operations of a function, those of the functions that it calls included.

    Attributes:
      operations: their kinds.
      python: whether one calls Python.
      stateful: whether one keeps TensorFlow from making a map of it parallel.
      random: whether one draws random numbers.
      writes: whether one changes a variable, a table or a queue.
    """

    operations: frozenset[str]
    python: bool
    stateful: bool
    random: bool
    writes: bool


def contents(function: Any) -> Contents:
    """Returns what is in a ConcreteFunction."""
    graph = function.graph.as_graph_def()
    kinds = {node.op for node in graph.node}
    for inner in graph.library.function:
        kinds |= {node.op for node in inner.node_def}
    stateful = {kind for kind in kinds - _HARMLESS if _is_stateful(kind)}
    random = any("Random" in kind or "Multinomial" in kind for kind in kinds)
    writes = any(kind.startswith(_WRITING) for kind in kinds)
    return Contents(frozenset(kinds), bool(kinds & _PYTHON), bool(stateful), random, writes)


@functools.cache
def _is_stateful(kind: str) -> bool:
    from tensorflow.python.framework import op_def_registry

    definition = op_def_registry.get(kind)
    return bool(definition and definition.is_stateful)


def code_place(function: Any) -> str | None:
    """Returns "path:line" of a Python function; None for one that is not the user's."""
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__wrapped__", function)
    code = getattr(function, "__code__", None)
    if code is None or _is_ours(code.co_filename):
        return None
    return f"{_short(code.co_filename)}:{code.co_firstlineno}"


def caller() -> str | None:
    """Returns "path:line" of the nearest frame that is neither TensorFlow's nor this package's."""
    frame = sys._getframe(1)
    while frame is not None:
        if not _is_ours(frame.f_code.co_filename):
            return f"{_short(frame.f_code.co_filename)}:{frame.f_lineno}"
        frame = frame.f_back
    return None


def _short(path: str) -> str:
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith("..") else relative


@functools.cache
def _is_ours(path: str) -> bool:
    import tensorflow as tf

    ours = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    theirs = os.path.dirname(os.path.abspath(tf.__file__))
    autograph = "__autograph_generated_file" in path
    return autograph or path.startswith((ours + os.sep, theirs + os.sep, "<"))
