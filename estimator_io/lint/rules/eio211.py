"""EIO211: from_tensors where from_tensor_slices was meant.

`from_tensors(x)` is a Dataset of one element: all of x. Shuffling one element does nothing. Rows
come from `from_tensor_slices(x)`.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO211",
    name="from-tensors",
    grade=Grade.WRONG,
    why="from_tensors makes one element of everything, so there is nothing to shuffle.",
    remedy="Use from_tensor_slices, which makes one element a row.",
    before="""
dataset = tf.data.Dataset.from_tensors((x, y)).shuffle(1000).batch(128)
""",
    after="""
dataset = tf.data.Dataset.from_tensor_slices((x, y)).shuffle(1000).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields from_tensors with a shuffle and nothing in between that makes more elements."""
    for path, index, call in program.calls("from_tensors"):
        for following in path.calls[index + 1 :]:
            if following.op == "shuffle":
                yield Hit(call.node)
            if following.op not in ("map", "cache", "prefetch"):
                break
