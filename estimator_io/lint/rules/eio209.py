"""EIO209: list_files in front of shard.

`list_files` shuffles by default, differently on every worker: with 20 files and 2 workers, 4 to 5
files are read twice and as many never. A seed does not help everywhere; `shuffle=False` does.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import after
from estimator_io.lint.analysis.values import Constant
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, argument, rule

__all__ = ["check"]


@rule(
    code="EIO209",
    name="list-files-shard",
    grade=Grade.WRONG,
    why=(
        "list_files shuffles differently on every worker, so their shards overlap and "
        "leave files out."
    ),
    remedy="Write list_files(…, shuffle=False), and shuffle behind the shard.",
    before="""
dataset = tf.data.Dataset.list_files("*.tfrecord").shard(workers, index)
""",
    after="""
dataset = tf.data.Dataset.list_files("*.tfrecord", shuffle=False).shard(workers, index)
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields shuffled lists of files that are sharded."""
    for path, index, call in program.calls("list_files"):
        if call.opaque or "seed" in call.arguments:
            continue
        shuffled = call.value("shuffle")
        if "shuffle" in call.arguments and shuffled not in (Constant(True), Constant(None)):
            continue
        if after(path, index, ("shard",)) is not None:
            fix = argument(
                program, call.node, "shuffle", "False", False, call.arguments.get("shuffle")
            )
            yield Hit(call.node, fix=fix)
