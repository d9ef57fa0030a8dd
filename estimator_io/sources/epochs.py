"""The epochs that a pipeline reads: all of its budget, or what an interruption left of it."""

from __future__ import annotations

from estimator_io.ops.order import next_epochs
from estimator_io.plan.calls import Call
from estimator_io.sources.base import Order

__all__ = ["epoch_numbers", "repeat_calls"]


def epoch_numbers(order: Order) -> Call:
    """Returns the call that yields the number of every epoch that is read."""
    if order.start is not None:
        return Call("epochs", "range", (order.start.first_epoch, order.start.end_epoch))
    if order.epochs is None:
        # 2 ** 62 epochs: a range needs an end, and no training reaches this one.
        return Call("epochs", "range", (1 << 62,))
    if order.passes is None:
        return Call("epochs", "range", (order.epochs,))
    return Call("epochs", next_epochs, (), {"epochs": order.epochs, "passes": order.passes})


def repeat_calls(order: Order) -> list[Call]:
    """Returns the calls that repeat rows whose order is the same in each epoch."""
    if order.start is not None:
        return [Call("epochs", "repeat", (order.start.epochs_left,))]
    return [] if order.epochs == 1 else [Call("epochs", "repeat", (order.epochs,))]
