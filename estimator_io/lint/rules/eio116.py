"""EIO116: shuffle in an evaluation.

An evaluation reads every row once, in whatever order, so a shuffle only fills a buffer before the
first batch; with `steps` given, each evaluation measures other rows.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, is_evaluation
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO116",
    name="evaluation-shuffle",
    grade=Grade.STYLE,
    why="An evaluation needs no order, and this buffer is filled before its first batch.",
    remedy="Leave the shuffle out where the input function evaluates or predicts.",
    before="""
def eval_input_fn():
    return tf.data.TFRecordDataset(path).shuffle(10_000).batch(128)


tf.estimator.EvalSpec(eval_input_fn, steps=None)
""",
    after="""
def eval_input_fn():
    return tf.data.TFRecordDataset(path).batch(128)


tf.estimator.EvalSpec(eval_input_fn, steps=None)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shuffles that only an Estimator's evaluation reads."""
    for path, index, call in program.calls("shuffle"):
        uses = program.paths_through(call.node)
        trains_too = any(_is_used(p) and not is_evaluation(p) for p in uses)
        cut = after(path, index, ("take", "skip")) is not None
        if is_evaluation(path) and not trains_too and not cut:
            yield Hit(call.node)


def _is_used(path: object) -> bool:
    return any(call.usage for call in path.calls)  # type: ignore[attr-defined]
