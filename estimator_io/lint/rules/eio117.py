"""EIO117: a cache that is never read to its end.

A cache counts once a whole pass was read; `take` behind it ends each pass early, so what was
cached is thrown away, and tf.data warns about it at run time.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, before
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO117",
    name="take-after-cache",
    grade=Grade.SLOW,
    why="This take ends the pass before the cache is full, so nothing of it is kept.",
    remedy="Put take in front of cache().",
    before="""
dataset = dataset.cache().take(1000).repeat()
""",
    after="""
dataset = dataset.take(1000).cache().repeat()
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields takes between a cache and what repeats or trains on it."""
    for path, index, call in program.calls("take"):
        if before(path, index, ("cache",)) is None or call.constant("count") == -1:
            continue
        cached = max(i for i, c in enumerate(path.calls[:index]) if c.op == "cache")
        if any(c.op in _RESETS for c in path.calls[cached + 1 : index]):
            continue
        if after(path, index, ("repeat",)) is not None:
            yield Hit(call.node)


_RESETS = frozenset({"repeat", "batch", "flat_map", "interleave", "window", "unbatch"})
