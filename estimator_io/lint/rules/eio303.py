"""EIO303: a lambda that returns a function.

The Estimator calls the lambda and gets a function where it wants features and labels.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Function
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO303",
    name="lambda-returns-function",
    grade=Grade.WRONG,
    why="This lambda returns a function, which nobody calls.",
    remedy="Give the function itself, or call it: lambda: input_fn(…).",
    before="""
tf.estimator.TrainSpec(lambda: input_fn, max_steps=100)
""",
    after="""
tf.estimator.TrainSpec(input_fn, max_steps=100)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields lambdas of Estimators that return a function of the file."""
    for usage in program.usages:
        value = usage.value
        is_lambda = isinstance(value, Function) and isinstance(value.node, ast.Lambda)
        if is_lambda and isinstance(usage.result, Function):
            yield Hit(usage.given)
