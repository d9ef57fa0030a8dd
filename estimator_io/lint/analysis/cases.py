"""`match`: which cases may be taken, and under which condition."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

from estimator_io.lint.analysis import conditions, expressions
from estimator_io.lint.analysis.values import UNKNOWN, Constant, Scope, Symbol, Value

if TYPE_CHECKING:
    from estimator_io.lint.analysis.walker import Walker

__all__ = ["follow_match"]


def follow_match(walker: Walker, node: ast.Match, scope: Scope) -> bool:
    """Follows each case that may be taken by itself; tells whether all of them leave the block."""
    subject = expressions.evaluate(walker, node.subject, scope)
    before, falls_through = scope.names, True
    ways: list[dict[str, Value]] = []
    for case in node.cases:
        taken = _is_taken(walker, case, subject, scope)
        if taken is False:
            continue
        scope.names = {**before, **dict.fromkeys(_captured(case.pattern), UNKNOWN)}
        condition = _condition(node.subject, case)
        with walker.knowing(*condition):
            leaves = walker.block(case.body, scope)
        if not leaves:
            ways.append(_marked(scope.names, before, condition))
        if taken:
            falls_through = False
            break
    if falls_through:
        ways.append(before)
    scope.names = ways[0] if ways else before
    for names in ways[1:]:
        scope.names = conditions.either(scope.names, names)
    return not ways


def _marked(
    names: dict[str, Value], before: dict[str, Value], condition: tuple[str, bool]
) -> dict[str, Value]:
    return {
        name: value if before.get(name) is value else conditions.tag(value, condition)
        for name, value in names.items()
    }


def _condition(subject: ast.expr, case: ast.match_case) -> tuple[str, bool]:
    """Returns the condition of a case, spelled as an `if` spells it where that can be."""
    pattern = case.pattern
    if isinstance(pattern, ast.MatchValue) and case.guard is None:
        return f"{ast.unparse(subject)} == {ast.unparse(pattern.value)}", True
    return f"match {ast.unparse(subject)}, line {pattern.lineno}", True


def _is_taken(walker: Walker, case: ast.match_case, subject: Value, scope: Scope) -> bool | None:
    """Tells whether a case is taken; None where it is not known."""
    if case.guard is not None:
        expressions.evaluate(walker, case.guard, scope)
    found = _fits(walker, case.pattern, subject, scope)
    return None if found and case.guard is not None else found


def _fits(walker: Walker, pattern: ast.pattern, subject: Value, scope: Scope) -> bool | None:
    if isinstance(pattern, ast.MatchAs):
        return pattern.pattern is None or _fits(walker, pattern.pattern, subject, scope)
    if isinstance(pattern, ast.MatchOr):
        found = [_fits(walker, part, subject, scope) for part in pattern.patterns]
        return True if True in found else (None if None in found else False)
    if isinstance(pattern, ast.MatchSingleton):
        value: Value = Constant(pattern.value)
    elif isinstance(pattern, ast.MatchValue):
        value = expressions.evaluate(walker, pattern.value, scope)
    else:
        return None
    known = isinstance(value, (Constant, Symbol)) and type(value) is type(subject)
    return value == subject if known else None


def _captured(pattern: ast.pattern) -> list[str]:
    names = [getattr(node, "name", None) for node in ast.walk(pattern)]
    return [name for name in names if isinstance(name, str)]
