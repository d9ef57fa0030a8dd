"""What the names in a function that a pipeline applies stand for, without following any call."""

from __future__ import annotations

import ast
import functools

from estimator_io.lint.analysis.effects import Effect, effect_of, made_by
from estimator_io.lint.analysis.symbols import CONVENTIONS, canonical
from estimator_io.lint.analysis.values import (
    ClassValue,
    DatasetIterator,
    Function,
    Instance,
    Made,
    Scope,
    Symbol,
    Unknown,
    Value,
)

__all__ = ["ALIASES", "is_foreign", "local_scope", "resolve"]

ALIASES = (ast.Name, ast.Attribute, ast.Subscript)


def local_scope(function: Function) -> Scope:
    """Returns the names of a function: what it binds itself, and around them what it was given."""
    signature = function.node.args
    parameters = [*signature.posonlyargs, *signature.args, *signature.kwonlyargs]
    given = Scope(function.scope, function=function.node)
    positional = [*signature.posonlyargs, *signature.args]
    defaults = zip(reversed(positional), reversed(signature.defaults), strict=False)
    keyword_defaults = zip(signature.kwonlyargs, signature.kw_defaults, strict=True)
    for parameter, default in [*defaults, *keyword_defaults]:
        if default is not None and not isinstance(default, ast.Constant):
            given.names[parameter.arg] = resolve(default, function.scope)
    for parameter, value in zip(parameters, function.arguments, strict=False):
        given.names[parameter.arg] = value
    given.names.update(function.keywords)
    scope = Scope(given, function=function.node)
    for parameter in parameters:
        if parameter.arg not in given.names:
            scope.names[parameter.arg] = Unknown(parameter.arg)
    if isinstance(function.node.body, list):
        _bind_statements(function.node.body, scope)
    return scope


def _bind_statements(body: list[ast.stmt], scope: Scope) -> None:
    pending: list[ast.AST] = list(body)
    assigned: list[str] = []
    aliases: list[tuple[str, ast.expr]] = []
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Assign) and isinstance(node.value, ALIASES):
            names = [target.id for target in node.targets if isinstance(target, ast.Name)]
            aliases.extend((name, node.value) for name in names)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            scope.names[node.name] = Function(node, scope)
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                name = canonical(f"{node.module}.{alias.name}")
                scope.names[alias.asname or alias.name] = Symbol(name)
        elif isinstance(node, ast.Import):
            for alias in node.names:
                scope.names[alias.asname or alias.name] = Symbol(canonical(alias.name))
        elif isinstance(node, ast.Name):
            if isinstance(node.ctx, ast.Store):
                assigned.append(node.id)
        elif not isinstance(node, (ast.Lambda, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(node))
    scope.names.update((name, Unknown(name)) for name in assigned)
    for name, given in reversed(aliases):
        value = resolve(given, scope)
        if isinstance(value, (Symbol, Made, Function)) and assigned.count(name) == 1:
            scope.names[name] = value
        elif is_foreign(given, scope):
            scope.names[name] = Instance()  # an object of which nothing is known


def is_foreign(base: ast.expr, scope: Scope) -> bool:
    """Tells whether an expression starts from an object that the function did not make."""
    while isinstance(base, (ast.Attribute, ast.Subscript, ast.Call)):
        base = base.func if isinstance(base, ast.Call) else base.value
    if not isinstance(base, ast.Name):
        return False
    found = scope.lookup(base.id)
    if found is None:
        return False
    value, home = found
    if isinstance(value, Symbol) and effect_of(f"{value.name}.x") is not Effect.UNKNOWN:
        return False
    return isinstance(value, (Instance, ClassValue)) or home is not scope


def resolve(node: ast.expr, scope: Scope) -> Value:
    """Returns what an expression stands for, following no call but those that make objects."""
    if isinstance(node, ast.Name):
        found = scope.lookup(node.id)
        if found is not None:
            return found[0]
        return Symbol(CONVENTIONS[node.id]) if node.id in CONVENTIONS else Unknown(node.id)
    if isinstance(node, ast.Call):
        function = resolve(node.func, scope)
        return made_by(function.name) if isinstance(function, Symbol) else Unknown()
    if isinstance(node, ast.Attribute):
        return _attribute(resolve(node.value, scope), node.attr)
    return Unknown()


def _attribute(owner: Value, name: str) -> Value:
    if isinstance(owner, (Symbol, Made)):
        return _member(owner.name, name)
    if isinstance(owner, DatasetIterator):
        return Symbol(f"tensorflow.DatasetIterator.{name}")
    if isinstance(owner, Instance):
        return owner.attributes.get(name, Unknown(name))
    if isinstance(owner, ClassValue):
        value = owner.instance.attributes.get(name, Unknown(name))
        return Function(value.node, value.scope) if isinstance(value, Function) else value
    return Unknown()


@functools.lru_cache(maxsize=4096)
def _member(owner: str, name: str) -> Symbol:
    return Symbol(canonical(f"{owner}.{name}"))
