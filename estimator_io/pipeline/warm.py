"""Filling a store before training."""

from __future__ import annotations

import dataclasses
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.pipeline import stages
from estimator_io.pipeline.cache import rows_of_cache, without_idle_cache
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.pipeline.request import order_of_rows
from estimator_io.plan.calls import Plan

BLOCK_ROWS = 64

__all__ = ["warm"]


def warm(input_fn: Any) -> tuple[int, int]:
    """Makes every row of `input_fn` that its store lacks, with a progress bar.

    Args:
      input_fn: an InputFn whose cache is a folder or a Store.

    Returns:
      (rows that the store holds now, rows of the source).

    Raises:
      OptionError: it is no InputFn, or caches nothing in a folder.
    """
    from tqdm import tqdm

    if not isinstance(input_fn, StagedInputFn):
        raise OptionError(
            f"warm needs an InputFn that a factory made. Received: {type(input_fn).__name__}. The"
            " cache of an accelerated function fills while its rows are read."
        )
    source, options = input_fn.source, input_fn.options
    if without_idle_cache(source, options).cache in (None, "memory"):
        raise OptionError(
            "The InputFn keeps no rows in a folder. Expected: one with cache='folder' or a Store,"
            " and with a parse or files to decode."
        )
    # What comes behind the cache need not run.
    others = {"filter": None, "flat_map": None, "key": None}
    options = dataclasses.replace(options, cache_fill="complete", **others)
    request = input_fn.for_mode("eval").request("eval", {"batch_size": options.batch_size or 1})
    dataset: Any = Plan(tuple(stages.row_calls(source, options, request))).build()
    counted: Any = dataset.map(lambda *_: 1).batch(BLOCK_ROWS).prefetch(1)
    seen = 0
    with tqdm(total=source.num_rows, unit="rows", disable=None) as bar:
        for rows in counted:
            seen += len(rows)
            bar.update(len(rows))
    order = order_of_rows(source, options, request)
    rows = rows_of_cache(source, options, order, dataset.element_spec)
    if rows is None:
        return 0, seen
    rows.flush()
    return int((rows.entries != 0).sum()), seen
