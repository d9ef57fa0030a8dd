"""Whether a pipeline gives the same rows each time that it is read."""

from __future__ import annotations

from estimator_io.lint.analysis.effects import Effect
from estimator_io.lint.analysis.ops import BATCHES
from estimator_io.lint.analysis.queries import is_endless
from estimator_io.lint.analysis.traits import traits_of
from estimator_io.lint.analysis.values import Constant, Path

__all__ = ["same_each_epoch"]

_SOURCES = frozenset(
    {"from_tensor_slices", "from_tensors", "range", "TFRecordDataset", "TextLineDataset"}
    | {"FixedLengthRecordDataset", "CsvDataset"}
)
_SAME_EACH_TIME = frozenset({*BATCHES, "take", "skip", "shard", "enumerate", "unbatch"})
_SAME_EACH_TIME |= {"prefetch", "concatenate", "window"}
_APPLY_FUNCTIONS = frozenset({"map", "filter", "flat_map", "interleave"})
_DRAWS = frozenset({"shuffle", "random", "rejection_resample", "sample_from_datasets"})


def same_each_epoch(path: Path, index: int) -> bool | None:
    """Tells whether what stands in front of a cache is finite and always the same.

    None where nobody can tell.
    """
    certain = path.source.op in _SOURCES
    for call in path.calls[:index]:
        if call.op in _DRAWS or is_endless(call):
            return False
        if call.op == "list_files" and call.value("shuffle") != Constant(False):
            return False
        if call.op in _APPLY_FUNCTIONS:
            given = [call.value(name) for name in ("map_func", "predicate") if call.has(name)]
            traits = [traits_of(value) for value in given]
            if any(t is not None and (t.random or Effect.STATE in t.effects) for t in traits):
                return False
            certain &= all(t is not None and t.order_free for t in traits)
            certain &= "deterministic" not in call.arguments and not call.opaque
        elif call.op == "repeat":
            count = call.constant("count")
            certain &= isinstance(count, int) and count >= 0
        elif call is not path.source:
            certain &= call.op in _SAME_EACH_TIME and not call.inputs
    return certain
