"""EIO110: cache in front of the work.

A cache keeps what was made before it. Right behind a source that lives in memory anyway, or
behind a list of file names, it keeps nothing that costs, and the reading and decoding behind it
is done again in every epoch. Move it behind the last map that gives the same result each time.
Records read from files are not reported: keeping them compressed may be meant.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import map_traits
from estimator_io.lint.analysis.values import Path
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO110",
    name="cache-before-work",
    grade=Grade.SLOW,
    why=(
        "This cache keeps what costs nothing to make; the work behind it is done again each epoch."
    ),
    remedy="Move cache() behind the last map without random numbers.",
    before="""
dataset = tf.data.Dataset.list_files("*.jpg").cache().map(decode)
""",
    after="""
dataset = tf.data.Dataset.list_files("*.jpg").map(decode).cache()
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields caches right behind names or arrays, with work behind them."""
    for path, index, call in program.calls("cache"):
        if path.source.op not in _CHEAP_SOURCES:
            continue
        if any(c.op not in _CHEAP for c in path.calls[1:index]):
            continue
        if any(c.op == "cache" for c in path.calls[index + 1 :]):
            continue
        if _work_behind(path, index):
            yield Hit(call.node)


_CHEAP_SOURCES = frozenset({"from_tensor_slices", "list_files", "range"})
_CHEAP = frozenset({"shuffle", "shard", "take", "skip", "prefetch", "enumerate"})


def _work_behind(path: Path, index: int) -> bool:
    """Tells whether the next map decodes, reads or calls Python, the same way each time."""
    for call in path.calls[index + 1 :]:
        if call.op == "map":
            traits = map_traits(call)
            return (
                traits is not None
                and not traits.random
                and (traits.decodes or traits.python or traits.parses)
            )
    return False
