"""Pipelines that never give a batch, which a source that is read again and again would hide."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from estimator_io.profiling import probing
from estimator_io.profiling.chain import Chain
from estimator_io.profiling.costs import Cost, elements_per_batch
from estimator_io.profiling.eagerly import bounded
from estimator_io.profiling.failing import no_element, told

__all__ = ["check_batches", "check_elements"]

# A pass up to the first batch is read where that takes no longer.
MOST_SECONDS = 1.0
UNKNOWN = -2


def check_elements(chain: Chain, dataset: Any) -> None:
    """Checks what TensorFlow knows of `dataset` before anything is read.

    Raises:
      NoDataError: a step, or the whole, gives no element.
    """
    for step in chain.steps:
        if step.elements == 0:
            raise no_element(step.spelled)
    if int(dataset.cardinality()) == 0:
        raise no_element(f"{chain.steps[-1].spelled}, or a take or skip behind it")


def check_batches(chain: Chain, costs: Sequence[Cost]) -> None:
    """Checks that one pass fills a batch, where a part of one is dropped.

    It is read where that is quick, and where TensorFlow does not know.

    Raises:
      NoDataError: it fills none.
      ProfileError: an element could not be made.
    """
    for at, step in enumerate(chain.steps):
        if step.kind != "batch" or step.repeated or step.elements != UNKNOWN or not step.drops:
            continue
        numbers = elements_per_batch(costs[:at])
        each = sum(n * cost.seconds for n, cost in zip(numbers, costs[:at], strict=True))
        if at == 0 or each * (step.size or 1) > MOST_SECONDS:
            continue
        steps = chain.steps[: at + 1]
        with told(steps):
            found = bounded(
                lambda steps=steps: _gives(steps),
                probing.PATIENCE_SECONDS,
                f"A pass of {step.spelled}",
            )
        if not found:
            raise no_element(step.spelled)


def _gives(steps: Sequence[Any]) -> bool:
    dataset: Any = steps[0].apply(None)
    for step in steps[1:]:
        dataset = step.apply(dataset)
    return any(True for _ in dataset.take(1))
