"""EIO204: a shuffle buffer smaller than a batch.

A buffer of n rows can move a row forward by n at most. One that is smaller than a batch leaves
the order nearly as it was, and one of 1 row does nothing.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, before
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO204",
    name="shuffle-too-small",
    grade=Grade.WRONG,
    why="This buffer holds fewer rows than a batch, so the order stays nearly as it was.",
    remedy="Give a buffer of many batches, at best of all rows.",
    before="""
dataset = dataset.shuffle(20).batch(128)
""",
    after="""
dataset = dataset.shuffle(10_000).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shuffles with a known buffer that is smaller than the known batch behind them."""
    for path, index, call in program.calls("shuffle"):
        size = call.constant("buffer_size")
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            continue
        expands = ("flat_map", "interleave", "unbatch", "window", "apply")
        batch = after(path, index, ("batch", "padded_batch"))
        if batch is None or before(path, index, ("shuffle", "batch")):
            continue
        between = path.calls[index + 1 : path.calls.index(batch)]
        if any(c.op in expands for c in between):
            continue
        rows = batch.constant("batch_size")
        if isinstance(rows, int) and size < rows:
            yield Hit(call.node)
