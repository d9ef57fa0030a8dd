"""EIO213: Python's random numbers in a traced function.

The function of a map is traced once, into a graph. A call of `random` or `np.random` in it runs
at that time alone, and every row gets the same number. Inside `tf.py_function` and
`tf.numpy_function` it runs for every row, and is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import map_traits
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO213",
    name="traced-random",
    grade=Grade.WRONG,
    why=(
        "A random number of Python or NumPy is drawn once, when this function is traced, "
        "for all rows."
    ),
    remedy="Use tf.random, with a seed for each row where it must repeat.",
    before="""
dataset = dataset.map(lambda image: image * np.random.uniform(0.8, 1.2))
""",
    after="""
dataset = dataset.map(lambda image: image * tf.random.uniform([], 0.8, 1.2))
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields maps and filters that draw with NumPy or random while they are traced."""
    for _, _, call in program.calls("map"):
        traits = map_traits(call)
        name = traits.traced_python_random if traits is not None else ""
        if name:
            why = f"{name} runs once, when this function is traced: every row gets the same number."
            yield Hit(call.node, why=why)
