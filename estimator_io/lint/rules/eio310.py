"""EIO310: fused transformations.

`map_and_batch`, `shuffle_and_repeat`, `parallel_interleave` and `unbatch` of tf.data.experimental
are deprecated: tf.data fuses the plain methods by itself.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO310",
    name="fused-transformation",
    grade=Grade.STYLE,
    why="This transformation is deprecated; tf.data fuses the plain methods by itself.",
    remedy="Write the methods one after the other.",
    before="""
dataset = dataset.apply(tf.data.experimental.map_and_batch(parse, 128))
""",
    after="""
dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE).batch(128)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields calls of transformations that plain methods replace."""
    for call in program.symbol_calls:
        experimental = call.name.startswith("tensorflow.data.experimental.")
        if experimental and last(call.name) in _METHODS_INSTEAD:
            instead = _METHODS_INSTEAD[last(call.name)]
            yield Hit(call.node, remedy=f"Write {instead}.")


_METHODS_INSTEAD = {
    "map_and_batch": "map(…, num_parallel_calls=tf.data.AUTOTUNE).batch(…)",
    "shuffle_and_repeat": "shuffle(…).repeat(…)",
    "parallel_interleave": "interleave(…, num_parallel_calls=tf.data.AUTOTUNE)",
    "unbatch": "unbatch()",
    "ignore_errors": "ignore_errors()",
    "bucket_by_sequence_length": "bucket_by_sequence_length(…)",
    "group_by_window": "group_by_window(…)",
    "enumerate_dataset": "enumerate()",
}
