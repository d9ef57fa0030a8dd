"""EIO304: an evaluation without end.

`steps=None` reads until the data ends. Behind a `repeat()` without a count it never does, and the
evaluation hangs, without an error. Said only where the count is known on every way through the
function.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program, Usage
from estimator_io.lint.analysis.queries import is_endless
from estimator_io.lint.analysis.values import Constant, Dataset, Path, Tensors, Value, parts
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO304",
    name="endless-evaluation",
    grade=Grade.WRONG,
    why="This reads until the data ends, and the input function repeats it for ever.",
    remedy="Leave repeat() out of the evaluation, or give steps.",
    before="""
def input_fn():
    return tf.data.TFRecordDataset(path).repeat().batch(128)


tf.estimator.EvalSpec(input_fn, steps=None)
""",
    after="""
def input_fn():
    return tf.data.TFRecordDataset(path).batch(128)


tf.estimator.EvalSpec(input_fn, steps=None)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields evaluations and predictions over data that never ends."""
    for usage in program.usages:
        if usage.kind == "train" or not _reads_to_the_end(usage):
            continue
        paths = _paths(usage.result)
        if paths and all(_never_ends(path) for path in paths):
            yield Hit(usage.node)


def _reads_to_the_end(usage: Usage) -> bool:
    if usage.kind == "predict":
        return False  # it yields as it goes, and the caller may stop
    if usage.is_spec:
        return usage.steps == Constant(None)
    return usage.steps is None or usage.steps == Constant(None)


def _paths(value: Value) -> list[Path]:
    found = []
    for part in parts(value):
        if isinstance(part, (Dataset, Tensors)):
            dataset = part.dataset if isinstance(part, Tensors) else part
            found.extend(dataset.paths)
    return found


def _never_ends(path: Path) -> bool:
    endless = False
    for call in path.calls:
        if is_endless(call):
            endless = True
        elif call.op in ("take", "take_while", "apply"):
            endless = False
    return endless
