"""The tf.data operations of an input_fn, as its graph has them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

__all__ = ["DatasetGraph"]

_PYTHON = ("PyFunc", "PyFuncStateless", "EagerPyFunc")
_RANDOM = re.compile(
    r"(Stateless)?(Random|ParameterizedTruncatedNormal|TruncatedNormal|Multinomial)"
)
_SAMPLE = re.compile(r"(Stateless)?SampleDistortedBoundingBox")


class DatasetGraph:
    """The nodes of a GraphDef and of its functions, asked for what a pipeline does.

    Args:
      graph_def: of the graph that the input_fn was called in.
    """

    def __init__(self, graph_def: Any) -> None:
        functions = graph_def.library.function
        self._functions = {each.signature.name: [*each.node_def] for each in functions}
        self._scopes = [[*graph_def.node], *self._functions.values()]

    def constant_bytes(self) -> int:
        """Returns the bytes of the constants, which each copy of the graph on the disk carries."""
        return sum(
            node.attr["value"].tensor.ByteSize()
            for scope in self._scopes
            for node in scope
            if node.op == "Const"
        )

    def repeats_endlessly(self) -> bool:
        """Tells whether a Dataset is repeated without end."""
        for scope in self._scopes:
            nodes = {node.name: node for node in scope}
            for node in scope:
                if _kind(node) == "Repeat" and _integer(nodes.get(_base(node.input[1]))) == -1:
                    return True
        return False

    def serial_python_maps(self) -> int:
        """Returns the maps that call Python, one row at a time."""
        # A one-shot iterator holds a copy of its Dataset, with the functions of the first.
        functions = {
            node.attr["f"].func.name
            for scope in self._scopes
            for node in scope
            if _kind(node) == "Map" and self._reaches(node, lambda op: op in _PYTHON)
        }
        return len(functions)

    def caches(self) -> list[str]:
        """Returns the file of each cache(); "" for one in memory, None where it is not constant."""
        found = []
        for nodes, node in self._of_kind("Cache"):
            found.append(_text(nodes.get(_base(node.input[1]))))
        return [path for path in found if path is not None]

    def random_before_cache(self) -> bool:
        """Tells whether a map that draws random numbers stands before a cache."""
        return any(
            _kind(node) in ("Map", "ParallelMap", "MapAndBatch") and self._reaches(node, _is_random)
            for nodes, cache in self._of_kind("Cache")
            for node in _above(nodes, cache)
        )

    def shuffles_before_cache(self) -> bool:
        """Tells whether rows are shuffled before a cache, and not behind it."""
        for nodes, cache in self._of_kind("Cache"):
            before = any(_kind(node).startswith("Shuffle") for node in _above(nodes, cache))
            behind = [
                node
                for node in nodes.values()
                if _kind(node).startswith("Shuffle") and cache in [*_above(nodes, node)]
            ]
            if before and not behind:
                return True
        return False

    def _of_kind(self, kind: str) -> Iterator[tuple[dict[str, Any], Any]]:
        for scope in self._scopes:
            nodes = {node.name: node for node in scope}
            for node in scope:
                if _kind(node) == kind:
                    yield nodes, node

    def _reaches(self, node: Any, wanted: Any) -> bool:
        """Tells whether a function of a node holds an operation, at any depth."""
        seen: set[str] = set()
        waiting = [*_function_names(node)]
        while waiting:
            name = waiting.pop()
            if name in seen:
                continue
            seen.add(name)
            for inner in self._functions.get(name, ()):
                if wanted(inner.op):
                    return True
                waiting += _function_names(inner)
        return False


def _kind(node: Any) -> str:
    """Returns the operation of a Dataset without "Dataset" and its version, else ""."""
    match = re.fullmatch(r"(\w+?)Dataset(V\d+)?", node.op)
    return match[1] if match else ""


def _above(nodes: dict[str, Any], node: Any) -> Iterator[Any]:
    """Yields the Datasets that a Dataset is made of, in its own graph or function."""
    waiting, seen = [*node.input], set()
    while waiting:
        name = _base(waiting.pop())
        if name in seen or name not in nodes:
            continue
        seen.add(name)
        if _kind(nodes[name]) or nodes[name].op == "Identity":
            yield nodes[name]
            waiting += nodes[name].input


def _base(name: str) -> str:
    return name.lstrip("^").partition(":")[0]


def _integer(node: Any) -> int | None:
    if node is None or node.op != "Const":
        return None
    from tensorflow.python.framework import tensor_util

    return int(tensor_util.MakeNdarray(node.attr["value"].tensor))


def _text(node: Any) -> str | None:
    if node is None or node.op != "Const":
        return None
    values = node.attr["value"].tensor.string_val
    return values[0].decode() if values else ""


def _function_names(node: Any) -> list[str]:
    names = []
    for value in node.attr.values():
        if value.HasField("func"):
            names.append(value.func.name)
        names += [each.name for each in value.list.func]
    return names


def _is_random(op: str) -> bool:
    return bool(_RANDOM.match(op) or _SAMPLE.match(op)) and "Seed" not in op
