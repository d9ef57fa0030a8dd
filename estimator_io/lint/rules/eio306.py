"""EIO306: an initializable iterator that nobody initializes.

Nothing runs the initializer of an iterator for the Estimator, unless it is added to the table
initializers or run by a hook. A returned Dataset is initialized by the Estimator. Where the file
mentions the initializer, this is a matter of style.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO306",
    name="initializable-iterator",
    grade=Grade.WRONG,
    why="Nobody runs the initializer of this iterator, so reading from it fails.",
    remedy="Return the Dataset; the Estimator makes the iterator.",
    before="""
def input_fn():
    dataset = tf.data.TFRecordDataset(path).batch(128)
    return tf.compat.v1.data.make_initializable_iterator(dataset).get_next()
""",
    after="""
def input_fn():
    return tf.data.TFRecordDataset(path).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields initializable iterators that an input function makes."""
    mentioned = re.search(r"\.initializer\b|InitializerHook|TABLE_INITIALIZERS", program.text)
    for name, node, _, function, usage in program.iterators:
        in_input_fn = bool(usage) or program.is_input_fn(function)
        if name == "make_initializable_iterator" and in_input_fn:
            if mentioned:
                why = "The input function makes an iterator, where the Estimator takes the Dataset."
                yield Hit(node, Grade.STYLE, why)
            else:
                yield Hit(node)
