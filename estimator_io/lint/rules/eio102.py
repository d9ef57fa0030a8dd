"""EIO102: map without num_parallel_calls.

A map of plain TensorFlow operations is made parallel by tf.data itself (`map_parallelization`):
measured on 2.15 and 2.21, writing it out changes nothing, so this is a matter of style there. A
map with a stateful operation is left serial: there it costs. Measured with a random map on two
cores, AUTOTUNE took half of the time. Stateful are random numbers (`tf.random`,
`tf.image.random_*`, `tf.nn.dropout`, `tf.random.Generator`, Keras layers such as RandomFlip),
Python, lookups in tables, `check_numerics`, and what writes or counts (`assign_add`, `tf.print`,
`tf.io.write_file`, queues).

`--fix` touches plain maps and lookups alone. With random numbers, Python or functions of other
files the result may depend on which call comes first: that edit needs `--unsafe-fixes`. What writes
or counts is left to you.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.effects import Effect
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
    if traits is None or not (traits.known or traits.stateful):
        why = "This map has no num_parallel_calls, and what it calls is not all in this file."
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
    if Effect.STATE in traits.effects:
        why = "This map writes or counts, so tf.data runs it one call at a time."
        remedy = (
            "Write num_parallel_calls=tf.data.AUTOTUNE if the order of its effects does not matter."
        )
        return Grade.SLOW, why, remedy
    if Effect.RANDOM in traits.effects:
        why = "This map draws random numbers with a state, so tf.data runs it one call at a time."
        return Grade.SLOW, why, "Write num_parallel_calls=tf.data.AUTOTUNE."
    if Effect.READS in traits.effects:
        why = "This map has a stateful operation, so tf.data runs it one call at a time."
        return Grade.SLOW, why, "Write num_parallel_calls=tf.data.AUTOTUNE: the result is the same."
    return Grade.STYLE, "", ""


def _fix(program: Program, call: Call, traits: Traits | None) -> Fix | None:
    autotune = program.names.autotune(call.node)
    if autotune is None or program.gives_up_order:
        return None
    if traits is not None and Effect.STATE in traits.effects:
        return None
    safe = traits is not None and traits.order_free
    return argument(program, call.node, "num_parallel_calls", autotune, safe)
