"""Streams of files whose rows know where they stand."""

from __future__ import annotations

import functools
from typing import Any

from estimator_io.ops import damage, locate
from estimator_io.plan.calls import Call, Named
from estimator_io.plan.parallel import calls_within
from estimator_io.sources.base import Order
from estimator_io.sources.epochs import epoch_numbers, repeat_calls
from estimator_io.sources.files import FileList

__all__ = ["located_files"]


def located_files(files: FileList, order: Order, reader: Any) -> list[Call]:
    """Returns the calls that yield (where, row) of `files` in the order of a stream.

    Args:
      files: all files.
      order: which of their rows to read, and in which order.
      reader: makes the Dataset of one file of (path, number of the file).
    """
    index, count = order.shard
    by_file = len(files.value) >= count
    first, step = (index, count) if by_file else (0, 1)
    kept: Named = files
    if by_file and count > 1:
        kept = Named("files_of_this_worker", files.value[index::count])
    where = {"first": first, "step": step}
    numbers = Named(
        "numbers",
        locate.file_indices(files.value, **where),
        functools.partial(locate.file_indices, files, **where),
    )
    at_once = min(order.interleave, len(kept.value))
    reading = {
        "read": reader,
        "cycle_length": at_once,
        "num_parallel_calls": calls_within(order.read_calls, at_once),
    }
    shard = None if by_file else (count, index)
    if order.shuffle:
        kwargs = {"files": kept, "numbers": numbers, "shard": shard}
        kwargs["read"] = functools.partial(damage.read_located, **reading)
        kwargs |= {"buffer_size": order.buffer_size, "seed": order.seed}
        epoch = functools.partial(locate.stream_of_epoch, **kwargs)
        return [epoch_numbers(order), Call("shuffle", "flat_map", (epoch,))]
    rest = [] if shard is None else [Call("shard", "shard", shard)]
    return [
        Call("source", damage.read_located, (kept, numbers), reading),
        *rest,
        *repeat_calls(order),
    ]
