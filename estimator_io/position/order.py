"""What the order of the rows depends on, and what to say where it has changed."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import PositionError
from estimator_io.pipeline.cache import cached_in_order
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import Request, buffer_size, effective_shuffle
from estimator_io.plan.identity import UnhashableError, digest
from estimator_io.position.run import Run
from estimator_io.sources.base import Source

__all__ = ["order_of", "require_same_order"]


def order_of(source: Source, options: Options, request: Request) -> dict[str, Any]:
    """Returns what the order of the rows depends on, by the names that the user knows it by.

    Stages that change values and move no row are left out: a better augmentation does not change
    the position.
    """
    shuffled = effective_shuffle(options, request)
    held = source.rows_held(buffer_size(source, options)) > 0
    cached = cached_in_order(source, options)
    buffered = shuffled and (cached or held or not source.indexed)
    order: dict[str, Any] = {
        "seed": request.seed,
        "source": _content(source.order_identity()),
        "shuffle": buffer_size(source, options) if buffered else shuffled,
        "filter": _content(options.filter),
        "flat_map": _content(options.flat_map),
        "shard": list(request.shard),
    }
    if options.skips:
        order["on_error"] = "skip"
    if not source.indexed:
        order["interleave"] = options.interleave
    if buffered:
        order["cache"] = cached
    if options.bucket_boundaries is not None:
        sizes = options.bucket_batch_sizes or (request.batch_size,)
        order["bucket_boundaries"] = list(options.bucket_boundaries)
        order["bucket_batch_sizes"] = list(sizes)
    return order


def require_same_order(run: Run | None, order: Mapping[str, Any], ledger: str) -> None:
    """Checks that rows come in the order in which `run` drew them.

    Args:
      run: the run that the restored step belongs to.
      order: what `order_of` returns for the pipeline that is about to go on.
      ledger: the path of the ledger, for the message.

    Raises:
      PositionError: something has changed; the message says what, since when, and the ways out.
    """
    changed = [] if run is None else [*_changes(run.order, order)]
    if not changed:
        return
    raise PositionError(
        f"Training cannot go on at the row where it stood, since {' and '.join(changed)}. Since"
        f" global step {run.from_step if run else 0} the rows came in another order, recorded in"
        f" {ledger!r}. To go on, take back the change. To begin with the first row of the new"
        " order, give position='restart'. To train another model, give another model_dir."
    )


def _changes(before: Mapping[str, Any], now: Mapping[str, Any]) -> list[str]:
    texts = []
    for name in dict.fromkeys([*now, *before]):
        old, new = before.get(name), now.get(name)
        if old == new or not _comparable(old, new):
            continue
        if name == "on_error" and old is None:
            continue  # what has been read without an error has no row to skip
        if name == "shard" and old and new:
            texts.append(f"the number of input pipelines was {old[1]} and is {new[1]}")
        elif any(isinstance(value, str) and ":" in value for value in (old, new)):
            texts.append(f"{name} has changed")
        elif name == "shuffle" and type(old) is type(new) is int:
            texts.append(
                f"the shuffle buffer held {old:,} rows and is to hold {new:,} (shuffle={old} goes"
                " on, with a memory_limit that has the room)"
            )
        else:
            texts.append(f"{name} was {old!r} and is {new!r}")
    return texts


def _comparable(old: Any, new: Any) -> bool:
    """Whether two digests were made alike: code differs with the versions that it runs on."""
    if "unknown" in (old, new):
        return False
    codes = [value for value in (old, new) if isinstance(value, str) and value.startswith("code ")]
    return len(codes) < 2 or codes[0].split(":")[0] == codes[1].split(":")[0]


def _content(value: Any) -> str | None:
    """Returns a digest of `value`; "unknown" where nothing can be told, None for nothing."""
    if value is None:
        return None
    kind = f"code {sys.version_info[:2]} {tf.__version__}" if callable(value) else "data"
    try:
        return f"{kind}:{digest(value)}"
    except UnhashableError:
        return "unknown"
