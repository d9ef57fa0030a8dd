"""EIO201: a result that is dropped.

Datasets do not change; every method returns a new one. A statement that only calls one has no
effect. `--fix` assigns what leaves the elements as they are: prefetch, and a cache in memory of
rows that are the same in each epoch. A shuffle, batch or repeat that begins to count changes what
the model sees, so it needs `--unsafe-fixes`. Nothing is assigned to a name of another function or
of the module, nor is a cache behind a shuffle, random numbers or an endless repeat. Not said
inside `pytest.raises` and `assertRaises`, where the call is made for its error.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.epochs import same_each_epoch
from estimator_io.lint.analysis.program import Discard, Program
from estimator_io.lint.finding import Fix, Grade
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
        is_variable = isinstance(source, ast.Name) and _starts_there(discard.node, source.id)
        if is_variable and program.names.owns(discard.node, source.id):
            fix = _fix(program, discard, source.id)
        yield Hit(discard.node, fix=fix)


def _fix(program: Program, discard: Discard, name: str) -> Fix | None:
    """Returns the assignment, unless a cache would begin to keep what must not be kept."""
    safe = True
    for path in program.paths_through(discard.node):
        nodes = _chain(discard.node)
        for index, call in enumerate(path.calls):
            if call.node not in nodes:
                continue
            if call.op == "cache":
                keeps = same_each_epoch(path, index)
                if keeps is False:
                    return None
                safe &= keeps is True and not call.arguments and not call.opaque
            else:
                safe &= call.op == "prefetch"
    return give_back(program, discard.node, name, safe)


def _chain(node: ast.expr) -> list[ast.AST]:
    nodes: list[ast.AST] = []
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        nodes.append(node)
        node = node.func.value
    return nodes


def _starts_there(node: ast.expr, name: str) -> bool:
    """Tells whether a chain of methods starts from a variable, not from a module."""
    links = 0
    while isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        node = node.func.value
        links += 1
    return links > 0 and isinstance(node, ast.Name) and node.id == name
