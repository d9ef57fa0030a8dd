"""EIO202: repeat in front of the shuffle.

Behind a repeat, the buffer mixes epochs: some rows come twice before others come once, and an
epoch has no end that can be seen. For endless training that may be meant, and is a matter of
style; with a number of epochs it is wrong. Shuffling first costs the time to fill the buffer once
an epoch.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import before, is_endless
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO202",
    name="repeat-before-shuffle",
    grade=Grade.STYLE,
    why=(
        "The shuffle behind this repeat mixes epochs: some rows come twice before others come once."
    ),
    remedy="Put shuffle in front of repeat.",
    before="""
dataset = dataset.repeat(3).shuffle(10_000)
""",
    after="""
dataset = dataset.shuffle(10_000).repeat(3)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields repeats with a shuffle of rows behind them and none in front."""
    for path, index, call in program.calls("repeat"):
        if call.constant("count") == 1 or before(path, index, ("shuffle",)):
            continue
        if path.source.op in ("from_tensors", "range"):  # one element, made into many
            continue
        if _shuffle_follows([c.op for c in path.calls[index + 1 :]]):
            counted = isinstance(call.constant("count"), int) and not is_endless(call)
            yield Hit(call.node, Grade.WRONG if counted else None)


def _shuffle_follows(ops: list[str]) -> bool:
    for op in ops:
        if op == "shuffle":
            return True
        if op in BATCHES or op in ("interleave", "flat_map"):
            return False
    return False
