"""EIO206: cache behind a shuffle.

A cache replays one order: that of the first epoch. Not said where another shuffle follows, where
the order is fixed on purpose (`reshuffle_each_iteration=False`), or where only the names of files
were shuffled.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, is_evaluation
from estimator_io.lint.analysis.values import Call
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO206",
    name="cache-after-shuffle",
    grade=Grade.WRONG,
    why="This cache keeps the order of the first epoch, so every epoch has the same one.",
    remedy="Put cache() in front of the shuffle.",
    before="""
dataset = dataset.shuffle(10_000).cache().repeat()
""",
    after="""
dataset = dataset.cache().shuffle(10_000).repeat()
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields caches that freeze the order of a shuffle."""
    for path, index, call in program.calls("cache"):
        if after(path, index, ("shuffle",)) or is_evaluation(path):
            continue
        earlier = path.calls[:index]
        if any(c.op in _OF_FILES for c in earlier):
            continue
        if any(_new_each_epoch(c) for c in earlier):
            yield Hit(call.node)


# What was shuffled in front of these may be names of files, or a part that is cut out.
_OF_FILES = ("interleave", "flat_map", "take", "skip")


def _new_each_epoch(call: Call) -> bool:
    if call.op != "shuffle" or call.opaque:
        return False
    return "reshuffle_each_iteration" not in call.arguments
