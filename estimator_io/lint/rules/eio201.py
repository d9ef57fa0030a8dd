"""EIO201: a result that is dropped.

Datasets do not change; every method returns a new one. A statement that only calls one has no
effect. `--fix` assigns what leaves the elements as they are (prefetch, cache); a shuffle, batch
or repeat that begins to count changes what the model sees, so it needs `--unsafe-fixes`.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, give_back, rule

__all__ = ["check"]


@rule(
    code="EIO201",
    name="dropped-result",
    grade=Grade.WRONG,
    why="The Dataset that this returns is dropped, so the call has no effect.",
    remedy="Assign it: dataset = dataset.…",
    before="""
dataset.shuffle(10_000)
""",
    after="""
dataset = dataset.shuffle(10_000)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields statements that call a method of a Dataset and drop what it returns."""
    known = {id(call.node) for path in program.all_pipelines for call in path.calls}
    for discard in program.discards:
        if id(discard.node) not in known:
            continue
        source = discard.node.func
        while isinstance(source, (ast.Attribute, ast.Call)):
            source = source.func if isinstance(source, ast.Call) else source.value
        fix = None
        if isinstance(source, ast.Name) and _starts_there(discard.node, source.id):
            calls = discard.path.calls
            dropped = [c for c in calls if c.node.lineno >= discard.node.lineno]  # type: ignore[attr-defined]
            safe = all(call.op in _HARMLESS for call in dropped)
            fix = give_back(program, discard.node, source.id, safe)
        yield Hit(discard.node, fix=fix)


_HARMLESS = frozenset({"prefetch", "cache"})


def _starts_there(node: ast.expr, name: str) -> bool:
    """Tells whether a chain of methods starts from a variable, not from a module."""
    links = 0
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
        links += 1
    return links > 0 and isinstance(node, ast.Name) and node.id == name
