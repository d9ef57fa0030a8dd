"""EIO107: files read one after the other.

One file at a time is read at the speed of one stream; on a network disk or object store several
at once are several times as fast, on a local disk it seldom matters. Reading several at once
mixes the order of rows, the same way at each run. Said only where the file shows that there are
several.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from estimator_io.lint.analysis.ops import FILE_READERS
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import lists_files
from estimator_io.lint.analysis.symbols import last
from estimator_io.lint.analysis.values import Call, Dataset, Files, Function, Symbol, Tuple, parts
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO107",
    name="files-in-sequence",
    grade=Grade.SLOW,
    why="These files are read one after the other, as one stream.",
    remedy=("Read several at once: num_parallel_reads=…, or interleave with num_parallel_calls."),
    before="""
dataset = tf.data.TFRecordDataset(tf.io.gfile.glob("data/*.tfrecord"))
""",
    after="""
dataset = tf.data.TFRecordDataset(tf.io.gfile.glob("data/*.tfrecord"), num_parallel_reads=8)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields readers of several files, and flat_maps over files."""
    for _, _, call in program.calls(*FILE_READERS):
        several = any(_is_several(p) for p in parts(call.value("filenames")))
        if several and not call.has("num_parallel_reads") and call.op != "CsvDataset":
            yield Hit(call.node)
    for path, index, call in program.calls("flat_map"):
        shuffles = {"shuffle", "repeat", "shard", "take", "cache"}
        between = {c.op for c in path.calls[1:index]}
        if lists_files(path.source) and between <= shuffles and _reads_a_file(call):
            yield Hit(call.node)


def _is_several(value: object) -> bool:
    if isinstance(value, Files):
        return True
    if isinstance(value, Dataset):
        return any(lists_files(path.source) for path in value.paths)
    return isinstance(value, Tuple) and len(value.items) > 1


def _reads_a_file(call: Call) -> bool:
    function = call.value("map_func")
    if isinstance(function, Symbol):
        return last(function.name) in FILE_READERS
    body = function.node.body if isinstance(function, Function) else None
    readers = set(FILE_READERS)
    return isinstance(body, ast.Call) and getattr(body.func, "attr", "") in readers
