"""Which operations give the same bits wherever they run.

In a session TensorFlow rewrites arithmetic before it runs it: x / 7 becomes x * (1 / 7), sums are
regrouped. In a function of a Dataset it does not. Operations that only move, make or compare values
are the same in both; so is a single operation, which leaves nothing to regroup.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

__all__ = ["same_bits_anywhere"]

_MOVES = re.compile(
    r"""(
    Identity(N)? | Const | Placeholder | Cast | Reshape | ExpandDims | Squeeze | Transpose
    | StridedSlice | Slice | Gather(V2|Nd)? | Concat(V2)? | Pack | Unpack | Split(V)? | Tile
    | Pad(V2)? | MirrorPad | Reverse(V2|Sequence)? | OneHot | Fill | ZerosLike | OnesLike | Range
    | Where | Select(V2)? | BroadcastTo | EnsureShape | PreventGradient | StopGradient
    | (Stateless)?Random\w* | (Stateless)?(Truncated|Multinomial|Parameterized)\w*
    | (Eager)?PyFunc(Stateless)? | Parse\w* | Decode\w* | StringToNumber | LookupTable\w*
    | (Des|S)erialize\w* | Sparse(ToDense|Reorder|Slice|Concat|Reshape)
    | Ragged\w* | Bitcast | Roll | InvertPermutation | DynamicStitch | DynamicPartition
    )""",
    re.VERBOSE,
)
# Conditions and loops of TensorFlow 1, which a session alone knows how to run.
_FLOW = frozenset({"Switch", "Merge", "Enter", "Exit", "NextIteration", "LoopCond"})
_ONE_ALONE = frozenset(
    {"Add", "AddV2", "Sub", "Mul", "Neg", "Abs", "Square", "Maximum", "Minimum", "Sqrt"}
)


def same_bits_anywhere(operations: Sequence[Any]) -> bool:
    """Whether operations of a graph compute the same in a session and in a Dataset."""
    if any(op.type in _FLOW for op in operations):
        return False
    alone = 0
    for op in operations:
        floats = any(t.dtype.is_floating or t.dtype.is_complex for t in op.outputs)
        if not floats or _MOVES.fullmatch(op.type):
            continue
        alone += 1
        if op.type not in _ONE_ALONE or alone > 1:
            return False
    return True
