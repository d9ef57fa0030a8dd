"""EIO208: a split that is shuffled anew.

`shuffle` draws a new order at each pass. Parts cut out of it by take and skip are other rows at
each pass, so the rows of the validation come into the training. Split first, or by name
(`estimator_io`'s `split=`), or fix the order with `reshuffle_each_iteration=False` and a seed.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Path
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO208",
    name="reshuffled-split",
    grade=Grade.WRONG,
    why=("take and skip behind this shuffle are other rows at each pass, so the parts overlap."),
    remedy=("Split in front of the shuffle, or add a seed and reshuffle_each_iteration=False."),
    before="""
dataset = dataset.shuffle(1000)
train, test = dataset.skip(100), dataset.take(100)
""",
    after="""
train, test = dataset.skip(100).shuffle(1000), dataset.take(100)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shuffles whose take and skip are both used, before anything fixes the order."""
    for path, index, call in program.calls("shuffle"):
        if call.fused or call.opaque or call.has("reshuffle_each_iteration"):
            continue
        parts = _parts(program.paths_through(call.node), call.node)
        if parts >= {"take", "skip"} and "cache" not in path.ops()[index : index + 2]:
            yield Hit(call.node)


def _parts(paths: list[Path], node: object) -> set[str]:
    """Returns which of take and skip is the first to follow a call, on any path."""
    found = set()
    for path in paths:
        index = max(i for i, call in enumerate(path.calls) if call.node is node)
        for position in range(index + 1, len(path.calls)):
            following = path.calls[position]
            if following.op in ("take", "skip") and _ends_in_training(path, position):
                found.add(following.op)
                break
            if following.op not in ("batch", "map", "filter", "prefetch"):
                break
    return found


def _ends_in_training(path: Path, position: int) -> bool:
    """Tells whether a part is more than a look at the first rows: take(1)."""
    call = path.calls[position]
    count = call.constant("count")
    return call.op == "skip" or not (isinstance(count, int) and count <= 10)
