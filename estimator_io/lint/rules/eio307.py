"""EIO307: arrays as constants of the graph.

In the Estimator's graph `from_tensor_slices(array)` writes the array into the graph as a
constant. It is saved with every checkpoint and event file (a 5 MB array made 127 MB in 8 steps),
and above 2 GB training does not start. Small tables are harmless, hence the grade.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.values import InMemory, parts
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO307",
    name="array-constant",
    grade=Grade.STYLE,
    why=(
        "These arrays become constants of the Estimator's graph: in each checkpoint, and "
        "at most 2 GB."
    ),
    remedy=(
        "Use estimator_io.numpy_input_fn or pandas_input_fn, which keep them out of the graph."
    ),
    before="""
x = np.load("x.npy")


def input_fn():
    return tf.data.Dataset.from_tensor_slices(x).batch(128)


estimator.train(input_fn)
""",
    after="""
x = np.load("x.npy")

estimator.train(estimator_io.numpy_input_fn(x, batch_size=128, shuffle=True))
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields sources over loaded arrays on the way to an Estimator."""
    for _, _, call in program.calls("from_tensor_slices", "from_tensors"):
        held = any(isinstance(p, InMemory) and p.loaded for p in parts(call.value("tensors")))
        if held and (call.usage or program.is_input_fn(call.function)):
            yield Hit(call.node)
