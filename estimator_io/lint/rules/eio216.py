"""EIO216: one order for all epochs, another at each run.

`reshuffle_each_iteration=False` keeps one order, but without a seed it is another one in each
graph and each process. Parts cut out of it differ between the input functions for training and
evaluation, which each build a graph of their own, and between runs.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after
from estimator_io.lint.analysis.values import Constant
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO216",
    name="fixed-order-without-seed",
    grade=Grade.WRONG,
    why=(
        "This order is kept for one graph alone: the parts cut out of it differ from "
        "graph to graph."
    ),
    remedy="Give the shuffle a seed.",
    before="""
def input_fn():
    rows = tf.data.TFRecordDataset(path)
    return rows.shuffle(1000, reshuffle_each_iteration=False).skip(100)
""",
    after="""
def input_fn():
    rows = tf.data.TFRecordDataset(path)
    return rows.shuffle(1000, seed=1, reshuffle_each_iteration=False).skip(100)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields unseeded shuffles of one order that an input function cuts into parts."""
    for path, index, call in program.calls("shuffle"):
        fixed = call.value("reshuffle_each_iteration") == Constant(False)
        if not fixed or call.has("seed") or after(path, index, ("take", "skip")) is None:
            continue
        if call.usage or program.is_input_fn(call.function):
            yield Hit(call.node)
