"""The tests that a branch depends on, so that two branches are not taken for one way."""

from __future__ import annotations

import ast

from estimator_io.lint.analysis.values import (
    UNKNOWN,
    Constant,
    Dataset,
    Made,
    Path,
    Tuple,
    Unknown,
    Value,
)

__all__ = [
    "MAX_PATHS",
    "compatible",
    "condition_of",
    "either",
    "join",
    "merge",
    "tag",
    "unique",
]

MAX_PATHS = 12
"""Ways followed for one Dataset; what a longer list of branches would add is left out."""

Condition = tuple[str, bool]


def condition_of(test: ast.expr) -> Condition:
    """Returns the text of a test without its `not`, and the outcome that enters the body."""
    outcome = True
    while isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        test, outcome = test.operand, not outcome
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        if isinstance(test.ops[0], ast.NotEq):
            test = ast.Compare(test.left, [ast.Eq()], test.comparators)
            outcome = not outcome
        elif isinstance(test.ops[0], ast.IsNot):
            test = ast.Compare(test.left, [ast.Is()], test.comparators)
            outcome = not outcome
    return ast.unparse(test), outcome


def compatible(known: dict[str, bool], conditions: frozenset[Condition]) -> bool:
    """Tells whether a path may have been taken where `known` holds."""
    for text, outcome in conditions:
        if known.get(text, outcome) != outcome:
            return False
        if outcome and " == " in text:
            left, _, right = text.partition(" == ")
            for other, holds in known.items():
                start, equal, end = other.partition(" == ")
                if holds and equal and start == left and end != right:
                    return False
    return True


def unique(paths: list[Path]) -> tuple[Path, ...]:
    """Returns the paths without repetitions, at most MAX_PATHS of them."""
    found: dict[tuple, Path] = {}
    for path in paths:
        found.setdefault((path.key, path.conditions), path)
        if len(found) == MAX_PATHS:
            break
    return tuple(found.values())


def merge(first: Value, second: Value) -> Value:
    """Returns what holds for a name that may have either value."""
    if first is second:
        return first
    if isinstance(first, Dataset) and isinstance(second, Dataset):
        return Dataset(unique([*first.paths, *second.paths]) or first.paths)
    for value, other in ((first, second), (second, first)):
        if isinstance(value, Dataset) and isinstance(other, (Unknown, Constant)):
            return value
    if isinstance(first, Tuple) and isinstance(second, Tuple):
        if len(first.items) == len(second.items):
            return Tuple(tuple(map(merge, first.items, second.items)))
        return UNKNOWN
    if type(first) is type(second) and not isinstance(first, (Constant, Made)):
        return first
    return first if first == second else UNKNOWN


def tag(value: Value, condition: Condition) -> Value:
    """Returns a value with its paths marked by the condition under which they run."""
    if isinstance(value, Dataset):
        text, outcome = condition
        possible = [p for p in value.paths if (text, not outcome) not in p.conditions]
        return Dataset(tuple(Path(p.calls, p.conditions | {condition}) for p in possible))
    if isinstance(value, Tuple):
        return Tuple(tuple(tag(item, condition) for item in value.items))
    return value


def join(
    first: dict[str, Value], second: dict[str, Value], text: str, outcome: bool
) -> dict[str, Value]:
    """Returns the names behind an if: `first` from its body, `second` from its else."""
    joined = dict(second)
    for name, value in first.items():
        other = second.get(name)
        if other is value:
            continue
        if other is None:
            joined[name] = value
            continue
        joined[name] = merge(tag(value, (text, outcome)), tag(other, (text, not outcome)))
    return joined


def either(first: dict[str, Value], second: dict[str, Value]) -> dict[str, Value]:
    """Returns the names behind two ways that nothing tells apart."""
    joined = {**second, **first}
    for name in first.keys() & second.keys():
        joined[name] = merge(first[name], second[name])
    return joined
