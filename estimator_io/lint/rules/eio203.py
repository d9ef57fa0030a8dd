"""EIO203: shuffle of batches.

Behind a batch, shuffle changes the order of batches; the rows of a batch stay together in every
epoch. Not said where rows were shuffled before, or are taken out of their batches again.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, before
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO203",
    name="shuffle-after-batch",
    grade=Grade.WRONG,
    why="This shuffles whole batches: the same rows stay together in every epoch.",
    remedy="Put shuffle in front of the batch.",
    before="""
dataset = dataset.batch(128).shuffle(1000)
""",
    after="""
dataset = dataset.shuffle(1000).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shuffles of batches whose rows were never shuffled."""
    for path, index, call in program.calls("shuffle"):
        batch = before(path, index, BATCHES)
        if batch is None or before(path, index, ("shuffle", "flat_map", "unbatch", "window")):
            continue
        if path.source.op in ("from_generator", "") and batch.constant("batch_size") is None:
            continue
        if after(path, index, ("unbatch", "flat_map", "interleave", "apply")) is None:
            yield Hit(call.node)
