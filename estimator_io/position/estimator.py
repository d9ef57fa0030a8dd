"""Where the Estimator's training goes on: from its model_dir and the global step in its graph."""

from __future__ import annotations

import dataclasses
import functools
import logging
from typing import Any

import tensorflow as tf

from estimator_io.pipeline.options import Options
from estimator_io.pipeline.request import Request
from estimator_io.pipeline.shards import replicas_of
from estimator_io.position.checkpoint import checkpoint_step
from estimator_io.position.iterator import Beginnings
from estimator_io.position.ledger import Ledger
from estimator_io.position.order import order_of, require_same_order
from estimator_io.position.rules import lineage
from estimator_io.position.terms import terms_of
from estimator_io.sources.base import Source

__all__ = ["placed"]


def placed(
    source: Source, options: Options, request: Request, config: Any, context: Any
) -> Request:
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
    if not request.training or request.mode_blind or tf.executing_eagerly():
        return request
    model_dir = getattr(config, "model_dir", None)
    restart = options.position == "restart"
    step = tf.compat.v1.train.get_global_step()
    if step is None and context is None:
        return request
    if not model_dir or _counts_no_batches(config, context):
        if not restart:
            _warn_of_restart(config)
        return request
    ledger = Ledger(model_dir, request.shard[0])
    if not restart:
        run = lineage(ledger.read(), checkpoint_step(model_dir))
        if run is not None and options.seed is None:
            request = dataclasses.replace(request, seed=int(run.order["seed"]))
        require_same_order(run, order_of(source, options, request), ledger.path)
    beginnings = Beginnings(
        ledger, terms_of(source, options, request, replicas=replicas_of(context)), restart=restart
    )
    start = beginnings.start(step, functools.partial(checkpoint_step, model_dir))
    return dataclasses.replace(request, start=start)


def _counts_no_batches(config: Any, context: Any) -> bool:
    """Whether other workers move the global step too, so that it does not count our batches."""
    return context is None and _workers(config) > 1


def _workers(config: Any) -> int:
    return getattr(config, "num_worker_replicas", 1) or 1


def _warn_of_restart(config: Any) -> None:
    reason = (
        f"{_workers(config)} workers share one global step, so it does not say which rows this one"
        " has drawn. Train with a distribution strategy that steps in sync"
        if config is not None
        else "the input function was called without the Estimator's config, which names model_dir."
        " Pass the InputFn itself, or lambda config: fn('train', config=config)"
    )
    logging.getLogger("estimator_io").warning(
        "training input begins with the first row: %s; or say position='restart'.", reason
    )
