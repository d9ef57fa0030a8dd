"""EIO115: a generator over what is in memory.

`from_generator` calls Python for every row. Arrays and lists need none: `from_tensor_slices`
hands them over at once, and estimator_io's `numpy_input_fn` keeps them out of the graph. Said
only where the generator does nothing but walk over its data.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Function, InMemory, parts
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO115",
    name="generator-in-memory",
    grade=Grade.SLOW,
    why=("This generator only walks over data in memory, with one call into Python for every row."),
    remedy="Use tf.data.Dataset.from_tensor_slices, or estimator_io.numpy_input_fn.",
    before="""
dataset = tf.data.Dataset.from_generator(lambda: zip(x, y), (tf.float32, tf.int64))
""",
    after="""
dataset = tf.data.Dataset.from_tensor_slices((x, y))
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields from_generator calls over arrays or lists."""
    for _, _, call in program.calls("from_generator"):
        value = call.value("generator")
        if any(isinstance(part, InMemory) and part.loaded for part in parts(value)) or (
            isinstance(value, Function) and _only_walks(value)
        ):
            yield Hit(call.node)


def _only_walks(function: Function) -> bool:
    body = function.node.body
    if isinstance(body, ast.expr):
        return _is_zip_of_names(body)
    statements = [s for s in body if not _is_docstring(s)]
    if len(statements) != 1 or not isinstance(statements[0], ast.For):
        return False
    loop = statements[0]
    if not _is_zip_of_names(loop.iter) or len(loop.body) != 1 or loop.orelse:
        return False
    inner = loop.body[0]
    if not isinstance(inner, ast.Expr) or not isinstance(inner.value, ast.Yield):
        return False
    given = inner.value.value
    return given is not None and not any(isinstance(n, ast.Call) for n in ast.walk(given))


def _is_zip_of_names(node: ast.expr) -> bool:
    """Tells whether an expression is zip(x, y) of plain names that are not read from elsewhere."""
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "zip"
        and len(node.args) > 1
        and all(isinstance(a, (ast.Name, ast.Attribute)) for a in node.args)
        and not any(word in ast.unparse(a).lower() for a in node.args for word in _MADE_LAZILY)
    )


_MADE_LAZILY = ("file", "path", "gen", "iter", "reader", "stream", "line")


def _is_docstring(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
