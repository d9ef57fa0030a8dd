"""EIO113: input functions with queues.

`numpy_input_fn` and `pandas_input_fn` of TensorFlow 1 feed a queue from Python threads, row by
row, and start anew at each call. `estimator_io` has both with the same arguments, on tf.data,
faster and with the same rows at each run.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO113",
    name="queue-input-fn",
    grade=Grade.SLOW,
    why="This input function feeds a queue from Python threads.",
    remedy=(
        "Take estimator_io.numpy_input_fn or estimator_io.pandas_input_fn: the same "
        "arguments, on tf.data."
    ),
    before="""
fn = tf.compat.v1.estimator.inputs.numpy_input_fn(x, y, shuffle=True)
""",
    after="""
fn = estimator_io.numpy_input_fn(x, y, shuffle=True)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields calls of the old input functions."""
    for call in program.symbol_calls:
        if call.name.endswith((".inputs.numpy_input_fn", ".inputs.pandas_input_fn")):
            yield Hit(call.node)
