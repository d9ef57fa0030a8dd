"""EIO106: interleave without num_parallel_calls.

Without it, interleave takes turns between files but reads one at a time; unlike a map, tf.data
does not make it parallel by itself. The order stays the same, as long as cycle_length is given
and `deterministic` is not switched off: that is when `--fix` adds it.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.effects import Effect
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.traits import Traits, traits_of
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, argument, rule

__all__ = ["check"]


@rule(
    code="EIO106",
    name="serial-interleave",
    grade=Grade.SLOW,
    why="This interleave takes turns between files but reads one at a time.",
    remedy="Write num_parallel_calls=tf.data.AUTOTUNE.",
    before="""
dataset = files.interleave(tf.data.TFRecordDataset, cycle_length=8)
""",
    after="""
dataset = files.interleave(
    tf.data.TFRecordDataset, cycle_length=8, num_parallel_calls=tf.data.AUTOTUNE
)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields interleaves that run serially."""
    for _, _, call in program.calls("interleave"):
        if call.fused or call.has("num_parallel_calls"):
            continue
        traits = traits_of(call.value("map_func"))
        fix = None
        autotune = program.names.autotune(call.node)
        if autotune is not None and not program.gives_up_order and not _has_effects(traits):
            pure = traits is not None and traits.order_free
            safe = pure and isinstance(call.constant("cycle_length"), int)
            fix = argument(program, call.node, "num_parallel_calls", autotune, safe)
        yield Hit(call.node, fix=fix)


def _has_effects(traits: Traits | None) -> bool:
    return traits is not None and Effect.STATE in traits.effects
