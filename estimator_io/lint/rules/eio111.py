"""EIO111: cache in an evaluation that is built anew.

The Estimator calls the input function of an evaluation for every evaluation, in a graph of its
own, and a cache in memory ends with the graph: it is filled once and never read. A cache in a
file survives. Not said where the pipeline repeats behind the cache.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, is_evaluation
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO111",
    name="evaluation-cache",
    grade=Grade.SLOW,
    why=(
        "Every evaluation builds this pipeline anew, so the cache in memory is filled "
        "and never read."
    ),
    remedy="Give cache() a file name, or leave it out.",
    before="""
def eval_input_fn():
    return tf.data.TFRecordDataset(path).map(parse).cache().batch(128)


tf.estimator.EvalSpec(eval_input_fn)
""",
    after="""
def eval_input_fn():
    return tf.data.TFRecordDataset(path).map(parse).cache("/tmp/eval").batch(128)


tf.estimator.EvalSpec(eval_input_fn)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields caches in memory on the way to an Estimator's evaluation."""
    for path, index, call in program.calls("cache"):
        if call.has("filename") and call.constant("filename") != "":
            continue
        if is_evaluation(path) and after(path, index, ("repeat",)) is None:
            yield Hit(call.node)
