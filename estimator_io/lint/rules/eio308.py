"""EIO308: a batch that keeps its remainder, on a TPU.

A TPU compiles for one shape. A batch without `drop_remainder=True` has none that is known, and
the TPUEstimator refuses it.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO308",
    name="tpu-remainder",
    grade=Grade.WRONG,
    why="A TPU needs batches of one size, and this one keeps a smaller last batch.",
    remedy="Write drop_remainder=True.",
    before="""
def input_fn(params):
    return tf.data.TFRecordDataset(path).batch(params["batch_size"])


tf.compat.v1.estimator.tpu.TPUEstimator(model_fn, config).train(input_fn)
""",
    after="""
def input_fn(params):
    return tf.data.TFRecordDataset(path).batch(params["batch_size"], drop_remainder=True)


tf.compat.v1.estimator.tpu.TPUEstimator(model_fn, config).train(input_fn)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields batches of an input function for a TPUEstimator without drop_remainder."""
    for path, index, call in program.calls("batch", "padded_batch"):
        if call.has("drop_remainder") or call.fused == "batch_and_drop_remainder":
            continue
        if _is_for_tpu(program, call.node) and "batch" not in path.ops()[index + 1 :]:
            yield Hit(call.node)


def _is_for_tpu(program: Program, node: ast.AST) -> bool:
    """Tells whether a TPUEstimator is given a pipeline, and no other Estimator is."""
    kinds = set()
    for usage in program.usages:
        functions = {c.function for p in program.paths_through(node) for c in p.calls if c.usage}
        if functions:
            kinds.add(usage.estimator)
    return kinds == {"TPUEstimator"}
