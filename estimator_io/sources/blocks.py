"""Rows by index, in blocks that the workers of a service are handed or share out."""

from __future__ import annotations

import functools

from estimator_io.ops.service import from_random_epoch, rows_of_block, share_of_worker
from estimator_io.plan.calls import Call
from estimator_io.sources.base import Order

__all__ = ["block_calls", "rows_in_block"]

# A worker asks the dispatcher for each block, about 1 ms; one that dies loses the block it is at.
BLOCKS_PER_EPOCH = 64
MOST_BLOCK_ROWS = 256
_ENDLESS = 1 << 62


def rows_in_block(size: int) -> int:
    """Returns the rows of one block, of `size` rows that one pipeline reads."""
    return max(1, min(MOST_BLOCK_ROWS, size // BLOCKS_PER_EPOCH))


def block_calls(order: Order, size: int) -> list[Call]:
    """Returns the calls that yield the indices of `size` rows, as `order.split` shares them out."""
    first, step = order.shard
    size = len(range(first, size, step))
    rows = rows_in_block(size)
    blocks = -(-size // rows)
    end = _ENDLESS if order.epochs is None else order.epochs * blocks
    kwargs = {"blocks": blocks, "block_rows": rows, "size": size, "shuffle": order.shuffle}
    kwargs |= {"seed": order.seed, "first": first, "step": step}
    if order.split == "off" and order.shuffle:
        end = min(end, _ENDLESS // 2)  # from_random_epoch adds to it
        calls = [Call("epochs", from_random_epoch, (end,), {"blocks": blocks})]
    else:
        calls = [Call("epochs", "range", (end,))]
    if order.split == "static":
        calls.append(Call("shard", "apply", (share_of_worker,)))
    stage = "shuffle" if order.shuffle else "source"
    return [*calls, Call(stage, "flat_map", (functools.partial(rows_of_block, **kwargs),))]
