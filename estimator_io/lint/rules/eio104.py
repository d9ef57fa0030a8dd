"""EIO104: prefetch of many batches.

`prefetch` counts elements, and behind a batch an element is a batch: `prefetch(batch_size)` holds
batch_size squared rows. One or two batches ahead are enough to overlap with the step; more only
takes memory and delays nothing less. AUTOTUNE finds the number.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import before, same_source, works_on_rows
from estimator_io.lint.analysis.values import Call
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, argument, rule

__all__ = ["check"]


@rule(
    code="EIO104",
    name="prefetch-too-large",
    grade=Grade.SLOW,
    why="Behind a batch, prefetch counts batches, and this holds many of them in memory.",
    remedy="Write prefetch(tf.data.AUTOTUNE), or 1 or 2.",
    before="""
dataset = dataset.batch(128).prefetch(128)
""",
    after="""
dataset = dataset.batch(128).prefetch(tf.data.AUTOTUNE)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields prefetches of as many batches as a batch has rows, or of more than 64."""
    for path, index, call in program.calls("prefetch"):
        batch = before(path, index, BATCHES)
        if batch is None or works_on_rows(path, index) or call.fused:
            continue
        given = call.arguments.get("buffer_size")
        if given is None:
            continue
        number = call.constant("buffer_size")
        many = isinstance(number, int) and number > _MANY_BATCHES
        if many or _is_batch_size(given, batch):
            fix = None
            autotune = program.names.autotune(call.node)
            if autotune is not None:
                fix = argument(program, call.node, "buffer_size", autotune, given=given)
            yield Hit(call.node, fix=fix)


_MANY_BATCHES = 64


def _is_batch_size(given: ast.expr, batch: Call) -> bool:
    """Tells whether the buffer is the batch size, or a multiple of it."""
    size = batch.arguments.get("batch_size")
    if size is None or isinstance(size, ast.Constant):
        return False
    if isinstance(given, ast.BinOp) and isinstance(given.op, ast.Mult):
        return same_source(given.left, size) or same_source(given.right, size)
    return same_source(given, size)
