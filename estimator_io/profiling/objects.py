"""Dataset objects as a chain: their inputs are followed back, and each one becomes a step.

TensorFlow gives no public access to the transformations of a Dataset, so attributes of its classes
are read; they are the same from 2.15 to 2.21. A class that is not known here becomes the source
of the chain, together with all that stands before it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.functional import FUNCTIONAL
from estimator_io.profiling.transformations import PLAIN, depth, unwrapped

__all__ = ["chain_of"]

_MAKERS = {**FUNCTIONAL, **PLAIN}
_NEUTRAL = ("Take", "Skip", "Repeat", "Options", "AssertCardinality", "AssertNext", "Model")


def chain_of(
    dataset: Any,
    stages: Mapping[int, str] | None = None,
    places: Mapping[int, str] | None = None,
) -> Chain:
    """Returns the chain that ends in `dataset`.

    Args:
      dataset: made eagerly.
      stages: the stage of Dataset objects, by id, where it is known.
      places: the lines that made them, by id.
    """
    steps: list[Step] = []
    options = tf.data.Options().merge(dataset.options())
    at = unwrapped(dataset)
    while True:
        stage = (stages or {}).get(id(at))
        place = (places or {}).get(id(at))
        before = _input(at)
        step = None if before is None else _step(at, stage, place)
        if before is None or step is None:
            steps.append(_source(at, stage, place))
            break
        if step.kind != "neutral":
            steps.append(dataclasses.replace(step, elements=int(at.cardinality())))
        elif step.stage == "Repeat":
            steps = [dataclasses.replace(later, repeated=True) for later in steps]
        at = unwrapped(before)
    optimization = options.experimental_optimization
    rewritten = optimization.apply_default_optimizations is not False
    return Chain(_told_apart(steps[::-1], bool(stages)), options, rewritten)


def _told_apart(steps: list[Step], named: bool) -> tuple[Step, ...]:
    """Returns the steps with numbers where several have the same name."""
    names = [step.stage for step in steps]
    if named:
        return tuple(steps)
    return tuple(
        step
        if names.count(step.stage) == 1
        else dataclasses.replace(step, stage=f"{step.stage} {names[: at + 1].count(step.stage)}")
        for at, step in enumerate(steps)
    )


def _input(dataset: Any) -> Any:
    if "Zip" in type(dataset).__name__:
        inputs = list(dataset._inputs())
        return max(inputs, key=depth)
    return getattr(dataset, "_input_dataset", None)


def _source(dataset: Any, stage: str | None, place: str | None) -> Step:
    elements = int(dataset.cardinality())
    return Step(
        stage or _name(dataset), "source", lambda _: dataset, place=place, elements=elements
    )


def _name(dataset: Any) -> str:
    name = type(dataset).__name__.strip("_").replace("Dataset", "")
    return name.removesuffix("V1").removesuffix("V2") or "source"


def _step(dataset: Any, stage: str | None, place: str | None) -> Step | None:
    """Returns the step of `dataset`; None where its class is not known."""
    name = _name(dataset)
    if name in _NEUTRAL:
        return Step(name, "neutral", lambda before: before)
    make = _MAKERS.get(name)
    if make is None:
        return None
    try:
        return make(dataset, stage, place)
    except AttributeError:  # a version of TensorFlow that keeps it elsewhere
        return None
