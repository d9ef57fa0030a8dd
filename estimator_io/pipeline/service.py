"""The stages up to the batch in a tf.data service: what changes, and where it is entered."""

from __future__ import annotations

import dataclasses
import functools
from typing import TYPE_CHECKING, Any

from estimator_io.ops.service import (
    in_live_service,
    in_service,
    numbered_on_worker,
    share_of_worker,
    shuffled_anew,
)
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call
from estimator_io.plan.parallel import tf_options
from estimator_io.service.connection import POLICIES, SERVICE_STAGE
from estimator_io.sources.base import Order, Source

if TYPE_CHECKING:
    from estimator_io.pipeline.request import Request

__all__ = ["numbered_calls", "request_inside", "service_calls", "source_calls"]

_READY_ON_WORKER = 2  # batches: one that is asked for, and one behind it


def request_inside(options: Options, request: Request) -> Request:
    """Returns `request` as the stages up to the batch see it: without position, in a service.

    Evaluation and prediction are one exact pass in order, which no service promises: they stay in
    this process.
    """
    if options.service is None or not request.training:
        return request
    split = None if options.service.is_local else options.service.sharding
    return dataclasses.replace(request, start=None, passes=None, split=split)


def service_calls(options: Options, request: Request, threads: int) -> list[Call]:
    """Returns the calls between the batch and what runs in this process; none without a service."""
    service = options.service
    if service is None or not request.training:
        return []
    arguments: dict[str, Any] = {"max_outstanding_requests": service.max_outstanding_requests}
    if service.is_local:
        entered = functools.partial(in_live_service, job_name=f"live-{request.seed}", **arguments)
    else:
        fields = ("job_name", "consumer_index", "num_consumers")
        arguments |= {name: getattr(service, name) for name in fields}
        arguments = {name: value for name, value in arguments.items() if value is not None}
        entered = functools.partial(
            in_service,
            service=service.target,
            sharding=POLICIES[service.sharding],
            compression=service.compresses,
            **arguments,
        )
    calls = [
        Call("prefetch", "prefetch", (_READY_ON_WORKER,)),
        Call("options", "apply", (tf_options(threads, deterministic=options.deterministic),)),
        Call(SERVICE_STAGE, "apply", (entered,)),
    ]
    if request.start is not None:
        # None: it stands here to be read, which records that training began with the first row.
        calls.append(Call("position", "skip", (request.start.skip_batches,)))
    return calls


def source_calls(source: Source, order: Order) -> list[Call]:
    """Returns the calls of the source, in an order that `order.split` lets workers share out."""
    if order.split is None or source.takes_blocks:
        return source.calls(order)
    calls = source.calls(dataclasses.replace(order, shuffle=False, split=None))
    if order.split == "static":
        calls.append(Call("shard", "apply", (share_of_worker,)))
    if order.shuffle:
        mix = functools.partial(shuffled_anew, buffer_size=order.buffer_size)
        calls.append(Call("shuffle", "apply", (mix,)))
    return calls


def numbered_calls(stage: str) -> list[Call]:
    """Returns the call that numbers rows on a worker, for the seeds of `stage`."""
    return [Call(stage, "apply", (numbered_on_worker,))]
