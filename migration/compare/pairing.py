"""Which variable and which prediction of an Estimator is which of a Keras model."""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from estimator_io.errors import OptionError

__all__ = ["Pair", "align", "check_mapping", "pair_predictions", "pair_variables"]

Shapes = Mapping[str, tuple[int, ...]]
_LEAVES = {"kernel", "bias", "gamma", "beta", "moving_mean", "moving_variance"}


@dataclasses.dataclass(frozen=True)
class Pair:
    """A variable of the Estimator and the one of the Keras model that stands for it.

    Attributes:
      estimator: its name in the graph.
      model: its path in the Keras model.
      trainable: whether both are trained.
      by: what says so: "mapping", "name", or "shape and order".
    """

    estimator: str
    model: str
    trainable: bool
    by: str


def pair_variables(
    estimator: Shapes, model: Shapes, mapping: Mapping[str, str] | None, *, trainable: bool
) -> list[Pair]:
    """Pairs variables: by the mapping, by equal names, or by shape in the order of creation.

    Args:
      estimator: shapes by name, in the order of creation.
      model: likewise, by path.
      mapping: the model's path for a name of the Estimator; it may name some only.
      trainable: every variable must have its counterpart then; otherwise some may be left.

    Raises:
      OptionError: the mapping names what is not there or has another shape, or trainable variables
        are left over.
    """
    left, right = dict(estimator), dict(model)
    pairs: list[Pair] = []

    def take(name: str, other: str, by: str) -> None:
        pairs.append(Pair(name, other, trainable, by))
        del left[name], right[other]

    for name, other in (mapping or {}).items():
        if name in left and other in right:
            _check_shape(name, left[name], other, right[other])
            take(name, other, "mapping")
    for name in [name for name in left if left[name] == right.get(name)]:
        take(name, name, "name")
    for key in (lambda name, shape: (_leaf(name), shape), lambda name, shape: shape):
        for name, other in _in_order(left, right, key):
            take(name, other, "shape and order")
    if trainable and (left or right):
        raise OptionError(
            "The trainable variables are not the same in number and shape. Left over of the"
            f" Estimator: {left or 'none'}; of the model: {right or 'none'}. Give variables="
            "{'name in the Estimator': 'path in the model', …} for those that stand for one"
            " another; the others must go."
        )
    order = list(estimator)
    return sorted(pairs, key=lambda pair: order.index(pair.estimator))


def _in_order(
    left: Shapes, right: Shapes, key: Callable[[str, tuple[int, ...]], Hashable]
) -> list[tuple[str, str]]:
    """Returns pairs of equal keys, where both sides have as many of that key."""
    groups: dict[Hashable, tuple[list[str], list[str]]] = defaultdict(lambda: ([], []))
    for at, side in enumerate((left, right)):
        for name, shape in side.items():
            groups[key(name, shape)][at].append(name)
    found: list[tuple[str, str]] = []
    for names, others in groups.values():
        leaves = [({_leaf(n), _leaf(o)}) for n, o in zip(names, others, strict=False)]
        # A bias is never a gamma, whatever the shapes and the order say.
        crossed = any(len(pair) == 2 and pair <= _LEAVES for pair in leaves)
        if len(names) == len(others) and not crossed:
            found.extend(zip(names, others, strict=True))
    return found


def _leaf(name: str) -> str:
    return name.rpartition("/")[2]


def _check_shape(name: str, shape: Any, other: str, other_shape: Any) -> None:
    if shape != other_shape:
        raise OptionError(
            f"variables pairs {name!r} of shape {shape} with {other!r} of shape {other_shape}."
            " Expected: equal shapes."
        )


def check_mapping(mapping: Mapping[str, str] | None, estimator: set[str], model: set[str]) -> None:
    """Refuses a mapping of names that are not there.

    Raises:
      OptionError: with the names that are there.
    """
    for name, other in (mapping or {}).items():
        if name not in estimator:
            raise OptionError(
                f"variables names {name!r}, which is no variable of the Estimator. Expected: among"
                f" {sorted(estimator)}."
            )
        if other not in model:
            raise OptionError(
                f"variables names {other!r}, which is no variable of the model. Expected: among"
                f" {sorted(model)}."
            )


def pair_predictions(
    estimator: Mapping[str, np.ndarray],
    model: Mapping[str, np.ndarray],
    wanted: str | Mapping[str, str] | None,
) -> dict[str, str]:
    """Returns the model's output for each prediction of the Estimator that is compared.

    Args:
      estimator: predictions of one batch by name; "" names the only one of a bare array.
      model: likewise, by the names of the outputs.
      wanted: the name of the prediction that the only output stands for, or outputs by
        predictions; None where names or shapes say it.

    Raises:
      OptionError: a name is not there, or nothing says which prediction it is.
    """
    if isinstance(wanted, str):
        wanted = {wanted: next(iter(model))} if len(model) == 1 else {wanted: wanted}
    if wanted is not None:
        for name, other in wanted.items():
            if name not in estimator or other not in model:
                raise OptionError(
                    f"predictions pairs {name!r} with {other!r}. Expected: of the Estimator one of"
                    f" {sorted(estimator)}, of the model one of {sorted(model)}."
                )
        return dict(wanted)
    shared = {name: name for name in estimator if name in model}
    if shared:
        return shared
    if len(model) == 1:
        ((output, value),) = model.items()
        fitting = [
            name
            for name, other in estimator.items()
            if other.size == value.size and np.issubdtype(other.dtype, np.floating)
        ]
        if len(fitting) == 1:
            return {fitting[0]: output}
    shapes = {name: value.shape for name, value in estimator.items()}
    outputs = {name: value.shape for name, value in model.items()}
    raise OptionError(
        f"Which prediction does the model's output stand for? The Estimator predicts {shapes}, the"
        f" model {outputs}. Give predictions='NAME', or {{'NAME': 'output', …}}."
    )


def align(value: np.ndarray, like: np.ndarray) -> np.ndarray:
    """Returns `value` in the shape of `like`, from which it may differ by axes of length 1."""
    return value.reshape(like.shape) if value.size == like.size else value
