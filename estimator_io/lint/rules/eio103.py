"""EIO103: prefetch in front of the batch, none behind it.

A prefetch in front of the batch holds rows; the batch itself is then put together while the step
waits. A second prefetch behind the batch makes the first one harmless.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, before
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, append_to, rule

__all__ = ["check"]


@rule(
    code="EIO103",
    name="prefetch-before-batch",
    grade=Grade.STYLE,
    why="This prefetch holds rows, and no batch is fetched ahead by this code.",
    remedy="Move it behind the batch: .batch(…).prefetch(tf.data.AUTOTUNE).",
    before="""
dataset = dataset.map(parse).prefetch(1000).batch(128)
""",
    after="""
dataset = dataset.map(parse).batch(128).prefetch(tf.data.AUTOTUNE)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields prefetches that only a batch follows."""
    for path, index, call in program.calls("prefetch"):
        if before(path, index, BATCHES) or program.is_open(path):
            continue
        rest = path.calls[index + 1 :]
        batches = [c for c in rest if c.op in BATCHES]
        unclear = any(c.op in ("prefetch", "unbatch", "flat_map", "apply") for c in rest)
        if not batches or unclear or after(path, index, ("take",)):
            continue
        fetched = [p for p in program.paths_through(call.node) if _fetches_batches(p.ops())]
        if fetched:
            continue
        end = path.calls[-1]
        fix = None
        autotune = program.names.autotune(end.node)
        if autotune is not None and len(program.paths_through(batches[-1].node)) == 1:
            fix = append_to(program, end.node, "prefetch", autotune)
        yield Hit(call.node, fix=fix)


def _fetches_batches(ops: list[str]) -> bool:
    first = min((ops.index(op) for op in BATCHES if op in ops), default=len(ops))
    return "prefetch" in ops[first:]
