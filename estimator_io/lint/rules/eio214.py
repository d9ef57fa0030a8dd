"""EIO214: a seed whose order is given up.

With `deterministic=False` elements arrive as they are ready, so the order depends on timing, and
a seed in front of it repeats nothing. Training that goes on at a row (estimator_io's position)
needs an order too.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Constant
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO214",
    name="seed-without-order",
    grade=Grade.WRONG,
    why=(
        "Rows come as they are ready here, so the seed of the shuffle does not repeat their order."
    ),
    remedy="Leave deterministic at its default, or drop the seed.",
    before="""
dataset = dataset.shuffle(1000, seed=1).map(parse, num_parallel_calls=8, deterministic=False)
""",
    after="""
dataset = dataset.shuffle(1000, seed=1).map(parse, num_parallel_calls=8)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields calls with deterministic=False or sloppy=True in a pipeline with a seeded shuffle."""
    for path, _, call in program.calls("map", "interleave", "batch"):
        loose = call.value("deterministic") == Constant(False) or (
            call.value("sloppy") == Constant(True)
        )
        if not loose:
            continue
        for other in path.calls:
            seed = other.arguments.get("seed")
            given = other.op == "shuffle" and seed is not None
            if given and not (isinstance(seed, ast.Constant) and seed.value is None):
                yield Hit(call.node)
                break
