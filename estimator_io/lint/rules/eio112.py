"""EIO112: shard behind the work.

`shard` drops rows that others read. What stands in front of it is done for those rows too: with
ten workers, nine tenths of the decoding are thrown away. Shard the names of files, or the
records.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO112",
    name="late-shard",
    grade=Grade.SLOW,
    why=("What stands in front of this shard is done for the rows of all the other workers too."),
    remedy="Shard first: the file names, or right behind the source.",
    before="""
dataset = dataset.map(decode).batch(128).shard(workers, index)
""",
    after="""
dataset = dataset.shard(workers, index).map(decode).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shards behind a map or a batch."""
    for path, index, call in program.calls("shard"):
        if any(c.op in _WORK for c in path.calls[:index]):
            yield Hit(call.node)


_WORK = BATCHES | {"map"}
