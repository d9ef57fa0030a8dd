"""EIO212: zip of Datasets that are shuffled apart.

Each shuffle draws an order of its own, so a picture meets the label of another. Zip first, then
shuffle the pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import Call, Dataset
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO212",
    name="zip-of-shuffles",
    grade=Grade.WRONG,
    why="The parts of this zip are shuffled apart, so rows no longer belong together.",
    remedy="Zip first, and shuffle the pairs.",
    before="""
pairs = tf.data.Dataset.zip((images.shuffle(1000), labels.shuffle(1000)))
""",
    after="""
pairs = tf.data.Dataset.zip((images, labels)).shuffle(1000)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields zips of two or more Datasets with unseeded shuffles of their own."""
    for _, _, call in program.calls("zip"):
        sources = [_shuffles(dataset) for dataset in call.inputs]
        apart = [shuffles for shuffles in sources if shuffles]
        if len(apart) < 2 or len({frozenset(s) for s in apart}) < 2:
            continue
        if not any(dataset_repeats(dataset) for dataset in call.inputs):
            yield Hit(call.node)


def _shuffles(dataset: Dataset) -> set[int]:
    found = set()
    for path in dataset.paths:
        found |= {id(call.node) for call in path.calls if _is_unseeded(call)}
    return found


def _is_unseeded(call: Call) -> bool:
    return call.op == "shuffle" and not call.has("seed")


def dataset_repeats(dataset: Dataset) -> bool:
    """Tells whether a Dataset is repeated: random pairs of two streams, which may be meant."""
    return any("repeat" in path.ops() for path in dataset.paths)
