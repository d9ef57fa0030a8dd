"""Small questions that several rules ask of a pipeline."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.traits import Traits, traits_of
from estimator_io.lint.analysis.values import UNKNOWN, Call, Constant, Files, Path, parts

__all__ = [
    "after",
    "before",
    "is_endless",
    "is_evaluation",
    "lists_files",
    "map_traits",
    "same_source",
    "works_on_rows",
]


def before(path: Path, index: int, ops: Iterable[str]) -> Call | None:
    """Returns the last call of some operations before an index."""
    wanted = set(ops)
    return next((c for c in reversed(path.calls[:index]) if c.op in wanted), None)


def after(path: Path, index: int, ops: Iterable[str]) -> Call | None:
    """Returns the first call of some operations behind an index."""
    wanted = set(ops)
    return next((c for c in path.calls[index + 1 :] if c.op in wanted), None)


def is_endless(call: Call) -> bool:
    """Tells whether a `repeat` has no end: no count, None, or a negative one."""
    if call.op != "repeat" or call.opaque:
        return False
    if "count" not in call.arguments:
        return True
    value = call.value("count")
    if not isinstance(value, Constant):
        return False
    return value.value is None or (isinstance(value.value, int) and value.value < 0)


def map_traits(call: Call) -> Traits | None:
    """Returns what the function of a map does; None where it is not in the file."""
    return traits_of(call.values.get("map_func", UNKNOWN))


def lists_files(call: Call) -> bool:
    """Tells whether the elements of a source are names of files."""
    if call.op == "list_files":
        return True
    return call.op == "from_tensor_slices" and any(
        isinstance(part, Files) for part in parts(call.value("tensors"))
    )


def works_on_rows(path: Path, index: int) -> bool:
    """Tells whether a call handles single rows: no batch or window stands before it."""
    rows = True
    for call in path.calls[:index]:
        if call.op in BATCHES or call.op == "window" or call.op in _BATCHED_SOURCES:
            rows = False
        elif call.op in ("unbatch", "flat_map"):
            rows = True
    return rows


_BATCHED_SOURCES = frozenset({"make_csv_dataset", "make_batched_features_dataset"})


def is_evaluation(path: Path) -> bool:
    """Tells whether a pipeline evaluates or predicts, for certain."""
    return all(call.usage in ("evaluate", "predict") for call in path.calls)


def same_source(first: ast.AST | None, second: ast.AST | None) -> bool:
    """Tells whether two expressions are spelled alike."""
    return first is not None and second is not None and ast.dump(first) == ast.dump(second)
