"""EIO105: Python called for every row.

`py_function` and `numpy_function` run under Python's lock, one call at a time whatever
num_parallel_calls says, and tf.data never makes such a map parallel by itself. Behind a batch
there is one call a batch, which is not reported. Library code that releases the lock (PIL, NumPy,
soundfile) gains from num_parallel_calls; a Python loop does not.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import map_traits, works_on_rows
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO105",
    name="python-map",
    grade=Grade.SLOW,
    why="This map calls Python for every row, under the interpreter's lock.",
    remedy="Use TensorFlow's operations, or call Python once a batch, behind .batch(…).",
    before="""
dataset = dataset.map(lambda path: tf.numpy_function(read, [path], tf.float32))
""",
    after="""
dataset = dataset.map(lambda path: tf.audio.decode_wav(tf.io.read_file(path)).audio)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields maps over rows that call Python."""
    for path, index, call in program.calls("map"):
        traits = map_traits(call)
        if traits is not None and traits.python and works_on_rows(path, index):
            yield Hit(call.node)
