"""What each kind of statement does to the names of a scope; true where it leaves the block."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from estimator_io.lint.analysis import cases, conditions, expressions
from estimator_io.lint.analysis.symbols import canonical
from estimator_io.lint.analysis.values import (
    UNKNOWN,
    ClassValue,
    Constant,
    Dataset,
    Function,
    Instance,
    Scope,
    Symbol,
)

if TYPE_CHECKING:
    from estimator_io.lint.analysis.walker import Walker

__all__ = ["STATEMENTS"]

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def _expression(walker: Walker, node: ast.Expr, scope: Scope) -> None:
    if not isinstance(node.value, ast.Constant):
        value = expressions.evaluate(walker, node.value, scope)
        if isinstance(value, Dataset) and walker.awaits_error:
            for path in value.paths:
                walker.program.mark_escaped(path)
        elif isinstance(value, Dataset):
            expressions.note_discard(walker, node.value, value)


def _assign(walker: Walker, node: ast.Assign, scope: Scope) -> None:
    value = expressions.evaluate(walker, node.value, scope)
    for target in node.targets:
        walker.bind(target, value, scope)


def _annotated(walker: Walker, node: ast.AnnAssign, scope: Scope) -> None:
    if node.value is not None:
        walker.bind(node.target, expressions.evaluate(walker, node.value, scope), scope)


def _augmented(walker: Walker, node: ast.AugAssign, scope: Scope) -> None:
    expressions.evaluate(walker, node.value, scope)
    if isinstance(node.target, ast.Name):
        value = scope.names.get(node.target.id)
        if isinstance(value, Constant) or value is None:
            scope.names[node.target.id] = UNKNOWN


def _if(walker: Walker, node: ast.If, scope: Scope) -> bool:
    test = expressions.evaluate(walker, node.test, scope)
    text, outcome = conditions.condition_of(node.test)
    if isinstance(test, Constant):
        taken = node.body if test.value else node.orelse
        return walker.block(taken, scope)
    if text in walker.known:
        return walker.block(node.body if walker.known[text] == outcome else node.orelse, scope)
    before = scope.names
    with walker.knowing(text, outcome):
        scope.names = dict(before)
        body_left = walker.block(node.body, scope)
        body = scope.names
    with walker.knowing(text, not outcome):
        scope.names = dict(before)
        else_left = walker.block(node.orelse, scope)
        otherwise = scope.names
    if body_left or else_left:
        if not (body_left and else_left):
            walker.known[text] = outcome if else_left else not outcome
        scope.names = otherwise if body_left else body
        return body_left and else_left
    scope.names = conditions.join(body, otherwise, text, outcome)
    return False


def _return(walker: Walker, node: ast.Return, scope: Scope) -> bool:
    if node.value is not None:
        value = expressions.evaluate(walker, node.value, scope)
        if isinstance(value, Dataset):
            value = Dataset(tuple(walker.current(value)) or value.paths)
        walker.returns.append(value)
    return True


def _leave(walker: Walker, node: ast.stmt, scope: Scope) -> bool:
    expressions.evaluate_children(walker, node, scope)
    return True


def _for(walker: Walker, node: ast.For | ast.AsyncFor, scope: Scope) -> None:
    expressions.evaluate(walker, node.iter, scope)
    before = dict(scope.names)
    walker.bind(node.target, UNKNOWN, scope)
    walker.block(node.body, scope)
    if not _runs_for_certain(node.iter):
        text = f"{ast.unparse(node.target)} in {ast.unparse(node.iter)}"
        scope.names = conditions.join(scope.names, before, text, True)
    walker.block(node.orelse, scope)


def _runs_for_certain(node: ast.expr) -> bool:
    """Tells whether a loop has a first item: it stands in the source, or nothing says otherwise."""
    if isinstance(node, (ast.Tuple, ast.List, ast.Set)):
        return bool(node.elts)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "range":
        count = node.args[-1] if node.args else node
        return isinstance(count, ast.Constant) and count.value != 0
    return not isinstance(node, ast.IfExp)


def _while(walker: Walker, node: ast.While, scope: Scope) -> None:
    test = expressions.evaluate(walker, node.test, scope)
    if isinstance(test, Constant):
        walker.block(node.body if test.value else node.orelse, scope)
        return
    text, outcome = conditions.condition_of(node.test)
    before = dict(scope.names)
    with walker.knowing(text, outcome):
        walker.block(node.body, scope)
    scope.names = conditions.join(scope.names, before, text, outcome)
    walker.block(node.orelse, scope)


_AWAITS_ERROR = re.compile(r"raises|warns|suppress|deprecated_call", re.IGNORECASE)


def _with(walker: Walker, node: ast.With | ast.AsyncWith, scope: Scope) -> bool:
    before = walker.awaits_error
    for entered in node.items:
        value = expressions.evaluate(walker, entered.context_expr, scope)
        if entered.optional_vars is not None:
            unknown = UNKNOWN if isinstance(value, Symbol) else value
            walker.bind(entered.optional_vars, unknown, scope)
        called = getattr(entered.context_expr, "func", None)
        name = getattr(called, "attr", getattr(called, "id", ""))
        walker.awaits_error |= bool(_AWAITS_ERROR.search(name))
    try:
        return walker.block(node.body, scope)
    finally:
        walker.awaits_error = before


def _try(walker: Walker, node: ast.Try, scope: Scope) -> bool:
    left = walker.block(node.body, scope)
    for handler in node.handlers:
        before = dict(scope.names)
        walker.block(handler.body, scope)
        scope.names = before
    walker.block(node.orelse, scope)
    return walker.block(node.finalbody, scope) or (left and not node.handlers)


def _define(walker: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope) -> None:
    for decorator in node.decorator_list:
        expressions.evaluate(walker, decorator, scope)
    function = Function(node, scope)
    scope.names[node.name] = function
    walker.define(function)


def _class(walker: Walker, node: ast.ClassDef, scope: Scope) -> None:
    inside = Scope(scope, function=scope.function)
    instance = Instance()
    scope.names[node.name] = ClassValue(node, inside, instance)
    ordered = sorted(node.body, key=lambda s: getattr(s, "name", "") != "__init__")
    for statement in ordered:
        if isinstance(statement, _FUNCTIONS):
            _method(walker, statement, scope, instance)
        else:
            walker.block([statement], inside)
    instance.attributes.update(
        {k: v for k, v in inside.names.items() if k not in instance.attributes}
    )


def _method(
    walker: Walker, node: ast.FunctionDef | ast.AsyncFunctionDef, scope: Scope, instance: Instance
) -> None:
    decorators = {getattr(d, "id", "") for d in node.decorator_list}
    bound = () if "staticmethod" in decorators else (instance,)
    function = Function(node, scope, bound, is_property="property" in decorators)
    instance.attributes[node.name] = function
    walker.define(function)


def _import(walker: Walker, node: ast.Import, scope: Scope) -> None:
    for alias in node.names:
        walker.program.imports.add(alias.name.partition(".")[0])
        if alias.asname:
            scope.names[alias.asname] = Symbol(canonical(alias.name))
        else:
            top = alias.name.partition(".")[0]
            scope.names[top] = Symbol(canonical(top))


def _import_from(walker: Walker, node: ast.ImportFrom, scope: Scope) -> None:
    module = "." * node.level + (node.module or "")
    walker.program.imports.add(module.partition(".")[0] or ".")
    for alias in node.names:
        if alias.name != "*":
            name = canonical(f"{module}.{alias.name}")
            scope.names[alias.asname or alias.name] = Symbol(name)


STATEMENTS: dict[type, Callable[[Walker, Any, Scope], bool | None]] = {
    ast.Expr: _expression,
    ast.Assign: _assign,
    ast.AnnAssign: _annotated,
    ast.AugAssign: _augmented,
    ast.If: _if,
    ast.Return: _return,
    ast.Raise: _leave,
    ast.Continue: _leave,
    ast.Break: _leave,
    ast.For: _for,
    ast.AsyncFor: _for,
    ast.While: _while,
    ast.With: _with,
    ast.AsyncWith: _with,
    ast.Try: _try,
    ast.FunctionDef: _define,
    ast.AsyncFunctionDef: _define,
    ast.ClassDef: _class,
    ast.Import: _import,
    ast.ImportFrom: _import_from,
    ast.Match: cases.follow_match,
}
if hasattr(ast, "TryStar"):
    STATEMENTS[ast.TryStar] = _try
