"""EIO109: rows parsed one by one.

`parse_example` parses a whole batch of serialized tf.train.Examples in one call. Measured on two
busy cores with rows of two small features: 9 to 44 times the rows per second of
`parse_single_example` for each row, on 2.15 and 2.21 (medians 20 and 16). Said only where the map
does nothing but parse, cast and pick, and the batch follows, so that the two can change places.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import map_traits, works_on_rows
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.analysis.traits import Traits
from estimator_io.lint.analysis.values import Path
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO109",
    name="parse-each-row",
    grade=Grade.SLOW,
    why="Rows are parsed one call each, and batched only then.",
    remedy="Batch the serialized rows first, then map tf.io.parse_example over batches.",
    before="""
dataset = dataset.map(lambda row: tf.io.parse_single_example(row, spec)).batch(128)
""",
    after="""
dataset = dataset.batch(128).map(lambda rows: tf.io.parse_example(rows, spec))
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields maps that only parse, with the batch behind them."""
    for path, index, call in program.calls("map"):
        traits = map_traits(call)
        if traits is None or not traits.parses or not works_on_rows(path, index):
            continue
        if _only_parses(traits) and _batch_follows(path, index):
            yield Hit(call.node)


_BATCHWISE = frozenset(
    {
        "parse_single_example",
        "FixedLenFeature",
        "FixedLenSequenceFeature",
        "VarLenFeature",
        "cast",
        "to_int32",
        "to_int64",
        "to_float",
        "one_hot",
        "equal",
        "not_equal",
        "identity",
    }
)


def _only_parses(traits: Traits) -> bool:
    return traits.known and all(last(name) in _BATCHWISE for name in traits.names)


def _batch_follows(path: Path, index: int) -> bool:
    for call in path.calls[index + 1 :]:
        if call.op == "batch":
            return True
        if call.op not in ("shuffle", "repeat", "prefetch"):
            return False
    return False
