"""EIO305: a one-shot iterator in an input function.

The Estimator takes the Dataset itself, and then knows it as one: for distribution, and so that
training can go on where it stood. `dataset.make_one_shot_iterator()` is gone from TensorFlow 2's
Datasets. A one-shot iterator also cannot capture tables or variables.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO305",
    name="one-shot-iterator",
    grade=Grade.STYLE,
    why=("The input function hands the Estimator tensors, where it could take the Dataset itself."),
    remedy="Return the Dataset.",
    before="""
def input_fn():
    dataset = tf.data.TFRecordDataset(path).batch(128)
    return dataset.make_one_shot_iterator().get_next()
""",
    after="""
def input_fn():
    return tf.data.TFRecordDataset(path).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields one-shot iterators that an input function makes."""
    for name, node, _, function, usage in program.iterators:
        in_input_fn = bool(usage) or program.is_input_fn(function)
        if name == "make_one_shot_iterator" and in_input_fn:
            yield Hit(node)
