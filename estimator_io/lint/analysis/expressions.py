"""What an expression stands for, and the pipelines that grow while it is evaluated."""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from estimator_io.lint.analysis import calls, conditions
from estimator_io.lint.analysis.program import Capture, Discard
from estimator_io.lint.analysis.symbols import CONVENTIONS, canonical
from estimator_io.lint.analysis.values import (
    UNKNOWN,
    Call,
    ClassValue,
    Constant,
    Dataset,
    Files,
    Function,
    InMemory,
    Instance,
    Path,
    Scope,
    Symbol,
    Tensors,
    Tuple,
    Unknown,
    Value,
)

if TYPE_CHECKING:
    from estimator_io.lint.analysis.walker import Walker

__all__ = ["evaluate", "evaluate_children", "item", "note_discard", "unknown_dataset"]


def evaluate(walker: Walker, node: ast.expr, scope: Scope) -> Value:
    """Returns what an expression stands for, after following every call in it."""
    handler = _EXPRESSIONS.get(type(node))
    if handler is not None:
        return handler(walker, node, scope)
    evaluate_children(walker, node, scope)
    return UNKNOWN


def evaluate_children(walker: Walker, node: ast.AST, scope: Scope) -> None:
    """Follows the calls inside a node whose own value does not matter."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.expr):
            evaluate(walker, child, scope)
        elif not isinstance(child, (ast.expr_context, ast.operator, ast.cmpop)):
            evaluate_children(walker, child, scope)


def unknown_dataset(node: ast.AST) -> Dataset:
    """Returns a Dataset that came from where the walk cannot look."""
    return Dataset((Path((Call("", node),)),))


def item(value: Value, index: int, count: int | None = None) -> Value:
    """Returns one item of a value that is unpacked or indexed."""
    if isinstance(value, Tuple):
        if count is not None and count != len(value.items):
            return UNKNOWN
        return value.items[index] if -len(value.items) <= index < len(value.items) else UNKNOWN
    return value if isinstance(value, (InMemory, Files, Tensors)) else UNKNOWN


def note_discard(walker: Walker, node: ast.expr, value: Dataset) -> None:
    """Notes a statement that consists of an operation on a Dataset."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        for path in value.paths:
            if len(path.calls) > 1 and path.calls[-1].node is node:
                walker.program.discards.append(Discard(node, path))


def _constant(walker: Walker, node: ast.Constant, scope: Scope) -> Value:
    return Constant(node.value)


def _name(walker: Walker, node: ast.Name, scope: Scope) -> Value:
    found = scope.lookup(node.id)
    if found is None:
        return Symbol(CONVENTIONS[node.id]) if node.id in CONVENTIONS else Unknown(node.id)
    value, home = found
    if isinstance(value, Dataset) and home.function is not scope.function:
        function = walker.function
        if function is not None and isinstance(node.ctx, ast.Load):
            walker.program.captures.append(Capture(node, function))
    return value


@functools.lru_cache(maxsize=4096)
def _member(owner: str, name: str) -> Symbol:
    return Symbol(canonical(f"{owner}.{name}"))


def _attribute(walker: Walker, node: ast.Attribute, scope: Scope) -> Value:
    return attribute_of(walker, evaluate(walker, node.value, scope), node.attr)


def attribute_of(walker: Walker, owner: Value, name: str) -> Value:
    """Returns what an attribute stands for."""
    if isinstance(owner, Symbol):
        return _member(owner.name, name)
    if isinstance(owner, Instance):
        value = owner.attributes.get(name, Unknown(name))
        if isinstance(value, Function) and value.is_property:
            return walker.call(value, (), {})
        return value
    if isinstance(owner, ClassValue):
        value = owner.instance.attributes.get(name, UNKNOWN)
        if isinstance(value, Function):
            return Function(value.node, value.scope)
        return value
    if isinstance(owner, (InMemory, Files)):
        return owner
    return UNKNOWN


def _subscript(walker: Walker, node: ast.Subscript, scope: Scope) -> Value:
    value = evaluate(walker, node.value, scope)
    index = evaluate(walker, node.slice, scope)
    if isinstance(index, Constant) and isinstance(index.value, int):
        return item(value, index.value)
    return value if isinstance(value, (InMemory, Files, Tensors)) else UNKNOWN


def _sequence(walker: Walker, node: ast.Tuple | ast.List | ast.Set, scope: Scope) -> Value:
    return Tuple(tuple(evaluate(walker, element, scope) for element in node.elts))


def _dict(walker: Walker, node: ast.Dict, scope: Scope) -> Value:
    for key in node.keys:
        if key is not None and not isinstance(key, ast.Constant):
            evaluate(walker, key, scope)
    return Tuple(tuple(evaluate(walker, value, scope) for value in node.values))


def _lambda(walker: Walker, node: ast.Lambda, scope: Scope) -> Value:
    function = Function(node, scope)
    walker.define(function)
    return function


def _conditional(walker: Walker, node: ast.IfExp, scope: Scope) -> Value:
    test = evaluate(walker, node.test, scope)
    if isinstance(test, Constant):
        return evaluate(walker, node.body if test.value else node.orelse, scope)
    text, outcome = conditions.condition_of(node.test)
    first = {"": evaluate(walker, node.body, scope)}
    second = {"": evaluate(walker, node.orelse, scope)}
    return conditions.join(first, second, text, outcome)[""]


def _comprehension(walker: Walker, node: Any, scope: Scope) -> Value:
    inner = Scope(scope, function=scope.function)
    over: list[Value] = []
    for generator in node.generators:
        over.append(evaluate(walker, generator.iter, inner))
        walker.bind(generator.target, UNKNOWN, inner)
        for test in generator.ifs:
            evaluate(walker, test, inner)
    if isinstance(node, ast.DictComp):
        evaluate(walker, node.key, inner)
        result = evaluate(walker, node.value, inner)
    else:
        result = evaluate(walker, node.elt, inner)
    if isinstance(result, (Dataset, InMemory)):
        return Tuple((result,))
    return over[0] if isinstance(over[0], (Files, InMemory)) else UNKNOWN


def _compare(walker: Walker, node: ast.Compare, scope: Scope) -> Value:
    left = evaluate(walker, node.left, scope)
    rights = [evaluate(walker, right, scope) for right in node.comparators]
    if len(rights) != 1 or not all(isinstance(v, (Constant, Symbol)) for v in (left, rights[0])):
        return UNKNOWN
    if isinstance(left, Symbol) != isinstance(rights[0], Symbol):
        return _symbol_against_none(node.ops[0], left, rights[0])
    if isinstance(node.ops[0], (ast.Eq, ast.Is)):
        return Constant(left == rights[0])
    if isinstance(node.ops[0], (ast.NotEq, ast.IsNot)):
        return Constant(left != rights[0])
    return UNKNOWN


def _symbol_against_none(op: ast.cmpop, left: Value, right: Value) -> Value:
    constant = left if isinstance(left, Constant) else right
    if isinstance(constant, Constant) and constant.value is None:
        if isinstance(op, (ast.Eq, ast.Is)):
            return Constant(False)
        if isinstance(op, (ast.NotEq, ast.IsNot)):
            return Constant(True)
    return UNKNOWN


def _boolean(walker: Walker, node: ast.BoolOp, scope: Scope) -> Value:
    values = [evaluate(walker, value, scope) for value in node.values]
    is_and = isinstance(node.op, ast.And)
    known = [v.value for v in values if isinstance(v, Constant)]
    if any(bool(v) != is_and for v in known):
        return Constant(not is_and)
    if len(known) == len(values):
        return Constant(is_and)
    # `x or default` may be either of them.
    return values[0] if isinstance(values[0], (Files, InMemory)) else UNKNOWN


def _unary(walker: Walker, node: ast.UnaryOp, scope: Scope) -> Value:
    value = evaluate(walker, node.operand, scope)
    if isinstance(value, Constant):
        if isinstance(node.op, ast.Not):
            return Constant(not value.value)
        if isinstance(node.op, ast.USub) and isinstance(value.value, (int, float)):
            return Constant(-value.value)
    return UNKNOWN


_ARITHMETIC: dict[type, Callable[[Any, Any], Any]] = {
    ast.Add: lambda a, b: a + b,
    ast.Sub: lambda a, b: a - b,
    ast.Mult: lambda a, b: a * b,
    ast.FloorDiv: lambda a, b: a // b if b else None,
}


def _binary(walker: Walker, node: ast.BinOp, scope: Scope) -> Value:
    left, right = evaluate(walker, node.left, scope), evaluate(walker, node.right, scope)
    if isinstance(left, Constant) and isinstance(right, Constant):
        operation = _ARITHMETIC.get(type(node.op))
        numbers = isinstance(left.value, int) and isinstance(right.value, int)
        return Constant(operation(left.value, right.value)) if operation and numbers else UNKNOWN
    for value in (left, right):
        if isinstance(value, (InMemory, Files)):
            return value
    return UNKNOWN


def _walrus(walker: Walker, node: ast.NamedExpr, scope: Scope) -> Value:
    value = evaluate(walker, node.value, scope)
    walker.bind(node.target, value, scope)
    return value


def _inside(walker: Walker, node: Any, scope: Scope) -> Value:
    return evaluate(walker, node.value, scope) if node.value is not None else UNKNOWN


_EXPRESSIONS: dict[type, Callable[[Walker, Any, Scope], Value]] = {
    ast.Constant: _constant,
    ast.Name: _name,
    ast.Attribute: _attribute,
    ast.Subscript: _subscript,
    ast.Call: calls.call,
    ast.Tuple: _sequence,
    ast.List: _sequence,
    ast.Set: _sequence,
    ast.Dict: _dict,
    ast.Lambda: _lambda,
    ast.IfExp: _conditional,
    ast.ListComp: _comprehension,
    ast.SetComp: _comprehension,
    ast.GeneratorExp: _comprehension,
    ast.DictComp: _comprehension,
    ast.Compare: _compare,
    ast.BoolOp: _boolean,
    ast.UnaryOp: _unary,
    ast.BinOp: _binary,
    ast.NamedExpr: _walrus,
    ast.Await: _inside,
    ast.Starred: _inside,
}
