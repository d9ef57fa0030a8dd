"""What turns the steps of a pipeline into rows, read off its source and options."""

from __future__ import annotations

import math

from estimator_io.pipeline.cache import cached_in_order
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import Request
from estimator_io.position.order import order_of
from estimator_io.position.rules import Terms
from estimator_io.sources.base import Source

__all__ = ["terms_of"]


def terms_of(source: Source, options: Options, request: Request, *, replicas: int = 1) -> Terms:
    """Returns the terms of one training pipeline.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      request: what the call asks for; its batch size is that of one replica.
      replicas: how many replicas take a batch of this pipeline in one step.
    """
    index, count = request.shard
    counted = source.starts_anywhere or cached_in_order(source, options)
    if options.changes_count:
        counted = False
    rows = source.num_rows if counted else None
    by_length = options.bucket_boundaries is not None
    return Terms(
        batch_size=None if by_length else request.batch_size,
        batches_per_step=replicas,
        epochs=options.epochs,
        rows_per_epoch=None if rows is None else math.ceil((rows - index) / count),
        drop_remainder=options.drop_remainder,
        order=order_of(source, options, request),
    )
