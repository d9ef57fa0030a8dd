"""EIO210: shard behind a shuffle.

Each worker draws an order of its own, so the same index means another row on each: some rows are
read by several workers, others by none.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import before
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO210",
    name="shard-after-shuffle",
    grade=Grade.WRONG,
    why=("Each worker shuffles differently in front of this shard, so rows come twice or never."),
    remedy="Put shard in front of the shuffle.",
    before="""
dataset = dataset.shuffle(1000).shard(workers, index)
""",
    after="""
dataset = dataset.shard(workers, index).shuffle(1000)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shards of what was shuffled without a seed."""
    for path, index, call in program.calls("shard"):
        shuffle = before(path, index, ("shuffle",))
        if shuffle is not None and not shuffle.has("seed"):
            yield Hit(call.node)
