"""EIO101: no prefetch behind the batch.

The next batch is prepared while the step runs only if something is fetched ahead. tf.data adds a
prefetch by itself (`inject_prefetch`), unless its rewrites are switched off, so the gain is about
none; written out, it holds whatever the options are. Not said where another function of the file,
or one that is not in it, is given the Dataset and may add it, nor of the ready-made datasets that
prefetch by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after, before
from estimator_io.lint.analysis.values import Path
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, append_to, rule

__all__ = ["check"]


@rule(
    code="EIO101",
    name="no-prefetch",
    grade=Grade.STYLE,
    why="Nothing is fetched ahead of the step by this code.",
    remedy="End the pipeline with .prefetch(tf.data.AUTOTUNE).",
    before="""
dataset = dataset.shuffle(10_000).batch(128)
return dataset
""",
    after="""
dataset = dataset.shuffle(10_000).batch(128)
return dataset.prefetch(tf.data.AUTOTUNE)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields batches that no pipeline of the file fetches ahead."""
    for path, index, call in program.calls(*BATCHES):
        if after(path, index, BATCHES) is not None or before(path, index, _FETCHES):
            continue
        if not path.source.op and not call.usage and not program.is_input_fn(call.function):
            continue  # one step of a pipeline that others start and end
        through = program.paths_through(call.node)
        if any(program.is_open(p) or _goes_on(p, call.node) for p in through):
            continue
        ends = {id(p.calls[-1].node): p for p in through}
        whole = path.calls[-1].op in _KEEP_BATCHES and len(ends) == 1
        fix = None
        autotune = program.names.autotune(path.calls[-1].node) if whole else None
        if autotune is not None:
            fix = append_to(program, path.calls[-1].node, "prefetch", autotune)
        yield Hit(call.node, fix=fix)


_FETCHES = ("prefetch",)
_ENDS = ("prefetch", "unbatch", "flat_map", "copy_to_device", "apply")
_KEEP_BATCHES = {*BATCHES, "map", "repeat"}


def _goes_on(path: Path, batch: object) -> bool:
    """Tells whether a pipeline fetches ahead behind the batch, or splits it up again."""
    index = next(i for i, call in enumerate(path.calls) if call.node is batch)
    return (
        after(path, index, ("prefetch", "unbatch", "flat_map", "copy_to_device", "apply"))
        is not None
    )
