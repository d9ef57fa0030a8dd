"""EIO108: shuffle of what was decoded.

The buffer of a shuffle holds its elements in memory and is filled before the first batch: 10,000
decoded pictures instead of 10,000 names or compressed strings. The order is as random if the
shuffle stands in front of the map. Behind a cache the shuffle stands right, and is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import before, lists_files, map_traits, works_on_rows
from estimator_io.lint.analysis.values import Path
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO108",
    name="shuffle-decoded",
    grade=Grade.SLOW,
    why="This buffer holds decoded data, and the first batch waits until it is filled.",
    remedy=(
        "Shuffle in front of the map that decodes, where elements are names or compressed strings."
    ),
    before="""
dataset = tf.data.Dataset.list_files("*.jpg").map(decode).shuffle(10_000)
""",
    after="""
dataset = tf.data.Dataset.list_files("*.jpg").shuffle(10_000).map(decode)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shuffles behind a map that decodes pictures or sound, or reads named files."""
    for path, index, call in program.calls("shuffle"):
        small = call.constant("buffer_size")
        if isinstance(small, int) and small <= _SMALL_BUFFER:
            continue
        if (
            works_on_rows(path, index)
            and _decoded(path, index)
            and not _must_stand_here(path, index)
        ):
            yield Hit(call.node)


_SMALL_BUFFER = 64


def _must_stand_here(path: Path, index: int) -> bool:
    mixes = ("cache", "flat_map", "unbatch", "window", "interleave", "snapshot", "apply")
    behind = path.calls[_first_decode(path, index) + 1 : index]
    return any(call.op in mixes for call in behind) or bool(before(path, index, ("shuffle",)))


def _first_decode(path: Path, index: int) -> int:
    for number, call in enumerate(path.calls[:index]):
        if call.op == "map":
            traits = map_traits(call)
            if traits is not None and traits.decodes:
                return number
            if traits is not None and traits.python and lists_files(path.source):
                return number
    return -1


def _decoded(path: Path, index: int) -> bool:
    return _first_decode(path, index) >= 0
