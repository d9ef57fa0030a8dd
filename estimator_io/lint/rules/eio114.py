"""EIO114: queue runners.

The queues of TensorFlow 1 need threads that Python starts, count no epochs and cannot be repeated
exactly. Under the Estimator of today they work only in graphs without TensorFlow 2 behaviour.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO114",
    name="queue-runner",
    grade=Grade.SLOW,
    why="This reads through a queue of TensorFlow 1, filled by Python threads.",
    remedy="Build a tf.data.Dataset and return it from the input function.",
    before="""
names = tf.train.string_input_producer(files)
""",
    after="""
names = tf.data.Dataset.from_tensor_slices(files).shuffle(len(files))
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields calls that make input queues."""
    for call in program.symbol_calls:
        if call.name.startswith("tensorflow.train.") and last(call.name) in _QUEUES:
            yield Hit(call.node)


_QUEUES = frozenset(
    {
        "string_input_producer",
        "slice_input_producer",
        "input_producer",
        "range_input_producer",
        "batch",
        "batch_join",
        "shuffle_batch",
        "shuffle_batch_join",
        "maybe_batch",
        "maybe_shuffle_batch",
        "limit_epochs",
    }
)
