"""EIO102: map without num_parallel_calls.

A map of plain TensorFlow operations is made parallel by tf.data itself (`map_parallelization`):
measured on 2.15 and 2.21, writing it out changes nothing, so this is a matter of style there. A
map that draws random numbers with a state, or that calls Python, is left serial: there it costs.
Measured with a random map on two cores, AUTOTUNE took half of the time. `--fix` touches plain
maps alone; with random numbers or Python, the result may depend on which call comes first, so
that edit needs `--unsafe-fixes`.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import map_traits
from estimator_io.lint.analysis.traits import Traits
from estimator_io.lint.analysis.values import Call
from estimator_io.lint.finding import Fix, Grade
from estimator_io.lint.rule import Hit, argument, rule

__all__ = ["check"]


@rule(
    code="EIO102",
    name="serial-map",
    grade=Grade.STYLE,
    why=("This map has no num_parallel_calls; tf.data makes plain maps parallel by itself."),
    remedy="Write num_parallel_calls=tf.data.AUTOTUNE.",
    before="""
dataset = dataset.map(parse)
""",
    after="""
dataset = dataset.map(parse, num_parallel_calls=tf.data.AUTOTUNE)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields maps that run one call at a time."""
    for _, _, call in program.calls("map"):
        if call.fused or call.has("num_parallel_calls"):
            continue
        traits = map_traits(call)
        grade, why, remedy = _how_bad(traits)
        yield Hit(call.node, grade, why, remedy, _fix(program, call, traits))


def _how_bad(traits: Traits | None) -> tuple[Grade, str, str]:
    if traits is None:
        why = "This map has no num_parallel_calls, and its function is not in this file."
        remedy = (
            "Write num_parallel_calls=tf.data.AUTOTUNE: a gain if it calls Python or draws random"
            " numbers, none otherwise."
        )
        return Grade.STYLE, why, remedy
    if traits.python:
        why = "This map calls Python, so tf.data runs it one call at a time."
        remedy = (
            "Write num_parallel_calls, or give the work to several processes if it holds the GIL."
        )
        return Grade.SLOW, why, remedy
    if traits.stateful:
        why = "This map draws random numbers with a state, so tf.data runs it one call at a time."
        return Grade.SLOW, why, "Write num_parallel_calls=tf.data.AUTOTUNE."
    return Grade.STYLE, "", ""


def _fix(program: Program, call: Call, traits: Traits | None) -> Fix | None:
    if program.autotune is None or program.gives_up_order:
        return None
    safe = traits is not None and traits.known and not traits.stateful
    return argument(program, call.node, "num_parallel_calls", program.autotune, safe)
