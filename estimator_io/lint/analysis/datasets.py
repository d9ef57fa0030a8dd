"""Pipelines as they grow: where one starts, and one operation more."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from estimator_io.lint.analysis import expressions
from estimator_io.lint.analysis.conditions import unique
from estimator_io.lint.analysis.ops import APPLIED, METHODS
from estimator_io.lint.analysis.values import (
    UNKNOWN,
    Call,
    Dataset,
    Function,
    Path,
    Scope,
    Transformation,
    Value,
    parts,
)

if TYPE_CHECKING:
    from estimator_io.lint.analysis.walker import Walker

__all__ = ["arguments_of", "begin", "evaluated", "extend", "start"]

_TAKES_FUNCTIONS = frozenset(
    {
        "map",
        "filter",
        "flat_map",
        "interleave",
        "group_by_window",
        "bucket_by_sequence_length",
        "scan",
        "take_while",
        "rejection_resample",
    }
)


def evaluated(
    walker: Walker, node: ast.Call, scope: Scope
) -> tuple[list[Value], dict[str, Value], bool]:
    """Returns what the arguments stand for: positional, by keyword, and whether some are hidden."""
    positional: list[Value] = []
    keywords: dict[str, Value] = {}
    opaque = False
    for argument in node.args:
        value = expressions.evaluate(walker, argument, scope)
        if isinstance(argument, ast.Starred):
            opaque = True
        elif not opaque:
            positional.append(value)
    for keyword in node.keywords:
        value = expressions.evaluate(walker, keyword.value, scope)
        if keyword.arg is None:
            opaque = True
        else:
            keywords[keyword.arg] = value
    return positional, keywords, opaque


def arguments_of(
    walker: Walker, node: ast.Call, names: tuple[str, ...], scope: Scope
) -> tuple[dict[str, ast.expr], dict[str, Value], bool]:
    """Returns the arguments by the names of the parameters: expressions, values, hidden ones."""
    positional, keywords, opaque = evaluated(walker, node, scope)
    given: dict[str, ast.expr] = dict(zip(names, node.args, strict=False)) if not opaque else {}
    values = dict(zip(names, positional, strict=False)) if not opaque else {}
    for keyword in node.keywords:
        if keyword.arg is not None:
            given[keyword.arg] = keyword.value
            values[keyword.arg] = keywords[keyword.arg]
    return given, values, opaque


def begin(walker: Walker, op: str, node: ast.Call, **details: object) -> Dataset:
    """Returns a pipeline of one call."""
    call = Call(
        op,
        node,
        function=walker.function,
        conditions=frozenset(walker.known.items()),
        usage=walker.usage,
        **details,  # type: ignore[arg-type]
    )
    path = Path((call,), frozenset(walker.known.items()))
    walker.program.record(path)
    return Dataset((path,))


def start(walker: Walker, op: str, node: ast.Call, scope: Scope, names: tuple[str, ...]) -> Dataset:
    """Returns the pipeline that a source starts."""
    if op == "zip" and len(node.args) > 1:  # zip(a, b) is zip((a, b)) since TensorFlow 2.12
        names = tuple(f"datasets{i}" for i in range(len(node.args)))
    given, values, opaque = arguments_of(walker, node, names, scope)
    inputs = tuple(p for v in values.values() for p in parts(v) if isinstance(p, Dataset))
    for dataset in inputs:
        for path in dataset.paths:
            walker.program.mark_extended(path)
    return begin(walker, op, node, arguments=given, values=values, opaque=opaque, inputs=inputs)


def extend(walker: Walker, dataset: Dataset, op: str, node: ast.Call, scope: Scope) -> Value:
    """Returns the pipeline with one method call more."""
    given, values, opaque = arguments_of(walker, node, METHODS[op], scope)
    if op == "apply":
        return _applied(walker, dataset, node, given, values)
    _mark_inner(walker, op, values)
    inputs = tuple(v for v in values.values() if isinstance(v, Dataset))
    for other in inputs:
        for path in other.paths:
            walker.program.mark_extended(path)
    call = _call(walker, op, node, given, values, opaque, inputs=inputs)
    return _lengthen(walker, dataset, (call,))


def _call(
    walker: Walker,
    op: str,
    node: ast.Call,
    given: dict[str, ast.expr],
    values: dict[str, Value],
    opaque: bool,
    inputs: tuple[Dataset, ...] = (),
    fused: str = "",
) -> Call:
    return Call(
        op,
        node,
        arguments=given,
        values=values,
        function=walker.function,
        conditions=frozenset(walker.known.items()),
        inputs=inputs,
        opaque=opaque,
        fused=fused,
        usage=walker.usage,
    )


def _lengthen(walker: Walker, dataset: Dataset, calls: tuple[Call, ...]) -> Dataset:
    known = frozenset(walker.known.items())
    longer = []
    for path in walker.current(dataset) or dataset.paths:
        if len(path.calls) > 60:
            continue
        extended = Path(path.calls + calls, path.conditions | known)
        walker.program.mark_extended(path)
        walker.program.record(extended)
        longer.append(extended)
    return Dataset(unique(longer)) if longer else dataset


def _mark_inner(walker: Walker, op: str, values: dict[str, Value]) -> None:
    if op in _TAKES_FUNCTIONS:
        for value in values.values():
            if isinstance(value, Function):
                walker.program.inner.add(value.node)


def _applied(
    walker: Walker,
    dataset: Dataset,
    node: ast.Call,
    given: dict[str, ast.expr],
    values: dict[str, Value],
) -> Value:
    function = values.get("transformation_func", UNKNOWN)
    if isinstance(function, Function):
        result = walker.call(function, (dataset,), {})
        if isinstance(result, Dataset):
            return result
    if isinstance(function, Transformation):
        _mark_inner(walker, APPLIED[function.name][0][0], function.values)
        calls = tuple(
            _call(
                walker,
                op,
                node,
                function.arguments,
                function.values,
                function.opaque,
                fused=function.name,
            )
            for op, _ in APPLIED[function.name]
        )
        return _lengthen(walker, dataset, calls)
    call = _call(walker, "apply", node, given, values, opaque=True)
    return _lengthen(walker, dataset, (call,))
