"""EIO301: a Dataset from outside the input function.

The Estimator calls the input function inside a graph of its own. A Dataset that was made outside
belongs to another graph, or to eager mode: "must be from the same graph", or one that cannot be
read.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO301",
    name="captured-dataset",
    grade=Grade.WRONG,
    why=("This Dataset is made outside the input function, in another graph than the Estimator's."),
    remedy="Build the Dataset inside the input function.",
    before="""
dataset = tf.data.TFRecordDataset(path)

estimator.train(lambda: dataset.batch(128), steps=100)
""",
    after="""
def input_fn():
    return tf.data.TFRecordDataset(path).batch(128)


estimator.train(input_fn, steps=100)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields names of Datasets that an input function of an Estimator takes from outside."""
    for capture in program.captures:
        if program.kinds_of_use(capture.function) and program.usages:
            yield Hit(capture.node)
