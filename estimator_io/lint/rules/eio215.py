"""EIO215: errors ignored in silence.

`ignore_errors` drops every row whose stage raises, and what a broken TFRecord file holds behind
the broken record. Nothing says so: a wrong feature name empties the Dataset. `log_warning=True`
at least writes each one down; `--fix` adds it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Constant
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, argument, rule

__all__ = ["check"]


@rule(
    code="EIO215",
    name="silent-errors",
    grade=Grade.WRONG,
    why="Rows with errors are dropped without a word, be it one or all of them.",
    remedy="Write ignore_errors(log_warning=True), or let the error be seen.",
    before="""
dataset = dataset.map(parse).ignore_errors()
""",
    after="""
dataset = dataset.map(parse).ignore_errors(log_warning=True)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields ignore_errors without log_warning."""
    for _, _, call in program.calls("ignore_errors"):
        if call.opaque or call.value("log_warning") == Constant(True):
            continue
        if "log_warning" in call.arguments and not isinstance(call.value("log_warning"), Constant):
            continue
        node = call.node.args[0] if call.fused else call.node  # type: ignore[attr-defined]
        fix = None
        if isinstance(node, ast.Call) and "contrib" not in ast.unparse(node.func):
            fix = argument(
                program, node, "log_warning", "True", given=call.arguments.get("log_warning")
            )
        yield Hit(call.node, fix=fix)
