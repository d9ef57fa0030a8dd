"""EIO207: cache behind an endless repeat.

What is cached behind `repeat()` has no end: memory or disk grows with every epoch and the cache
is never complete.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import is_endless
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO207",
    name="cache-after-repeat",
    grade=Grade.WRONG,
    why=(
        "This cache stands behind an endless repeat: it grows with every epoch and is "
        "never complete."
    ),
    remedy="Put cache() in front of repeat().",
    before="""
dataset = dataset.map(parse).repeat().cache()
""",
    after="""
dataset = dataset.map(parse).cache().repeat()
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields caches of endless Datasets."""
    for path, index, call in program.calls("cache"):
        endless = [i for i, c in enumerate(path.calls[:index]) if is_endless(c)]
        if endless and not any(c.op == "take" for c in path.calls[endless[-1] : index]):
            yield Hit(call.node)
