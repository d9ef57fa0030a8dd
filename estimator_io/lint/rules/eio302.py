"""EIO302: an input function that is called.

TrainSpec, EvalSpec, train, evaluate and predict take a function, which they call in their graph.
With parentheses behind its name they are given what it returns.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Dataset, Tensors, parts
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO302",
    name="called-input-fn",
    grade=Grade.WRONG,
    why="This hands over what the input function returns, not the function.",
    remedy="Give the function itself, or lambda: input_fn(…).",
    before="""
tf.estimator.TrainSpec(input_fn(files), max_steps=100)
""",
    after="""
tf.estimator.TrainSpec(lambda: input_fn(files), max_steps=100)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields Datasets and tensors given where a function is expected."""
    for usage in program.usages:
        wrong = any(isinstance(part, (Dataset, Tensors)) for part in parts(usage.value))
        if wrong and isinstance(usage.given, (ast.Call, ast.Name, ast.Tuple)):
            yield Hit(usage.given)
