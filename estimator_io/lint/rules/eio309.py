"""EIO309: tf.contrib.data.

tf.contrib left TensorFlow with 2.0. Its input transformations live on as methods of Dataset or in
`tf.data.experimental`.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO309",
    name="contrib-data",
    grade=Grade.WRONG,
    why="tf.contrib.data is gone since TensorFlow 2.0.",
    remedy="Use the method of Dataset of the same purpose, or tf.data.experimental.",
    before="""
dataset = dataset.apply(tf.contrib.data.shuffle_and_repeat(1000))
""",
    after="""
dataset = dataset.shuffle(1000).repeat()
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields calls into tf.contrib.data."""
    for call in program.symbol_calls:
        if call.name.startswith("tensorflow.contrib.data."):
            yield Hit(call.node)
