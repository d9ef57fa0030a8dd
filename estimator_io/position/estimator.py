"""Where the Estimator's training goes on: from its model_dir and the global step in its graph."""

from __future__ import annotations

import dataclasses
import functools
import logging
from typing import Any

import tensorflow as tf

from estimator_io.pipeline import stages
from estimator_io.pipeline.options import Options
from estimator_io.position.checkpoint import checkpoint_step
from estimator_io.position.iterator import Beginnings
from estimator_io.position.ledger import Ledger
from estimator_io.position.order import order_of, require_same_order
from estimator_io.position.rules import lineage
from estimator_io.position.terms import terms_of
from estimator_io.sources.base import Source

__all__ = ["placed"]


def placed(
    source: Source, options: Options, request: stages.Request, config: Any, context: Any
) -> stages.Request:
    """Returns `request` with the start of a training call, where the Estimator makes it.

    A call by anything else is returned as it is: without a model_dir there is no ledger, and
    without a session nothing restores a step. With `seed=None` the seed that the model_dir was
    trained with is adopted.

    Args:
      source: the source of the rows.
      options: the options of the pipeline.
      request: what the call asks for.
      config: the Estimator's RunConfig, or None.
      context: the InputContext of a distribution strategy, or None.

    Raises:
      PositionError: the rows up to the checkpoint came in another order.
    """
    model_dir = getattr(config, "model_dir", None)
    if not model_dir or not request.training or request.mode_blind or tf.executing_eagerly():
        return request
    step = tf.compat.v1.train.get_global_step()
    if (step is None and context is None) or _counts_no_batches(config, context):
        return request
    ledger = Ledger(model_dir, request.shard[0])
    restart = options.position == "restart"
    if not restart:
        run = lineage(ledger.read(), checkpoint_step(model_dir))
        if run is not None and options.seed is None:
            request = dataclasses.replace(request, seed=int(run.order["seed"]))
        require_same_order(run, order_of(source, options, request), ledger.path)
    beginnings = Beginnings(
        ledger, terms_of(source, options, request, replicas=_replicas(context)), restart=restart
    )
    start = beginnings.start(step, functools.partial(checkpoint_step, model_dir))
    return dataclasses.replace(request, start=start)


def _replicas(context: Any) -> int:
    """Returns how many replicas take a batch of this pipeline in one step."""
    if context is None:
        return 1
    return max(1, context.num_replicas_in_sync // context.num_input_pipelines)


def _counts_no_batches(config: Any, context: Any) -> bool:
    """Whether other workers move the global step too, so that it does not count our batches."""
    workers = getattr(config, "num_worker_replicas", 1) or 1
    if context is not None or workers <= 1:
        return False
    logging.getLogger("estimator_io").warning(
        "%d workers share one global step, so the step does not say which rows this worker has"
        " drawn: its input begins with the first row. Give position='restart' to say so, or train"
        " with a distribution strategy that steps in sync.",
        workers,
    )
    return True
