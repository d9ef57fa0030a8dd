"""Causes that show before training: other values, or other outputs from the same values."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from migration.compare.evidence import Cause, Evidence, close
from migration.compare.keras_side import KerasSide
from migration.compare.pairing import align

__all__ = ["batch_norm_epsilon", "random_evaluation", "row_order", "starting_weights"]

EPSILONS = (1e-3, 1e-5, 1e-2, 1e-4, 1e-6, 1e-7, 1e-8, 1e-12)
SHIFTS = (1, -1, 2, -2, 3, -3)
MOST_TRIALS = 200


def starting_weights(evidence: Evidence) -> Cause | None:
    """Both begin with other values, which their own initialisers made."""
    apart = {
        name: tuple(float(np.std(side[0])) for side in sides)
        for name, sides in evidence.first.items()
        if not np.allclose(sides[0][0], sides[1][0], rtol=1e-5, atol=1e-7)
    }
    if evidence.copied or not apart:
        return None
    told = ", ".join(f"{n} {first:.3g} and {other:.3g}" for n, (first, other) in apart.items())
    return Cause(
        "starting weights",
        f"Before training {len(apart)} of {len(evidence.first)} variables differ; their standard"
        f" deviations (Estimator, model) are {told}.",
        "Compare with start='copy'; for equal spreads give the layers the initialisers of the"
        " model_fn (tf.get_variable's default is glorot_uniform, as that of Dense).",
    )


def random_evaluation(evidence: Evidence) -> Cause | None:
    """One side gives other predictions for the same batch and weights."""
    sides = {"Estimator": evidence.estimator, "model": evidence.model}
    try:
        random = [n for n, s in sides.items() if s.varies(evidence.kept[0], training=False)]
    except Exception:  # a model_fn may fail in any way where it has no PREDICT
        return None
    if not random:
        return None
    return Cause(
        "dropout in evaluation",
        f"The {' and the '.join(random)} gave other predictions for the same batch and the same"
        " variables.",
        "Switch dropout and noise off outside of training: `mode == TRAIN` in a model_fn, the"
        " argument `training` of Keras layers.",
    )


def row_order(evidence: Evidence) -> Cause | None:
    """Shifting the rows of one weight makes the predictions equal: another place for OOV."""
    model = evidence.model
    if not _differ(evidence) or not isinstance(model, KerasSide):
        return None
    sizes = [size for layer in model.layers() if (size := _vocabulary_size(layer))]
    trials = 0
    for path, value in model.variables().items():
        if value.ndim != 2:
            continue
        for begin, end in _blocks(len(value), sizes):
            for shift in SHIFTS:
                if abs(shift) >= end - begin or trials >= MOST_TRIALS:
                    continue
                trials += 1
                moved = value.copy()
                moved[begin:end] = np.roll(value[begin:end], shift, axis=0)
                if _equal_with(evidence, lambda m=moved: model.assign({path: m}),  # noqa: B023 (called in this turn)
                               lambda v=value: model.assign({path: v})):  # noqa: B023  # fmt: skip
                    return Cause(
                        "vocabulary order",
                        f"With the rows {begin} to {end - 1} of {path} moved by {shift:+d} the"
                        " predictions are equal.",
                        "A vocabulary column puts its OOV buckets behind the words, StringLookup"
                        " puts them first: move the rows, or look words up in the same order.",
                    )
    return None


def batch_norm_epsilon(evidence: Evidence) -> Cause | None:
    """Another epsilon in the batch normalisations makes the predictions equal."""
    model = evidence.model
    if not _differ(evidence) or not isinstance(model, KerasSide):
        return None
    layers = [layer for layer in model.layers() if hasattr(layer, "moving_variance")]
    before = [layer.epsilon for layer in layers]
    for epsilon in EPSILONS if layers else ():
        if _equal_with(evidence, lambda e=epsilon: _set_epsilons(layers, [e] * len(layers)),
                       lambda: _set_epsilons(layers, before)):  # fmt: skip
            told = ", ".join(f"{value:g}" for value in sorted(set(before)))
            return Cause(
                "batch-norm epsilon",
                f"The model's is {told}; with {epsilon:g} the predictions are equal.",
                f"Give BatchNormalization(epsilon={epsilon:g}).",
            )
    return None


def _set_epsilons(layers: list[Any], values: list[float]) -> None:
    for layer, value in zip(layers, values, strict=True):
        layer.epsilon = value


def _equal_with(evidence: Evidence, change: Callable[[], None], back: Callable[[], None]) -> bool:
    """Whether the model predicts what the Estimator does while the change holds."""
    change()
    try:
        found = evidence.model.predict(evidence.kept)
    finally:
        back()
    for pairs, outputs in zip(evidence.predictions, found, strict=True):
        for name, (value, _) in pairs.items():
            output = outputs[name] if name in outputs else next(iter(outputs.values()))
            if not close(value, align(output, value)):
                return False
    return True


def _differ(evidence: Evidence) -> bool:
    return evidence.copied and evidence.predictions_differ


def _vocabulary_size(layer: Any) -> int:
    if not hasattr(layer, "vocabulary_size"):
        return 0
    return int(layer.vocabulary_size())


def _blocks(rows: int, sizes: list[int]) -> Iterator[tuple[int, int]]:
    """Yields the whole of the rows, and every place where a vocabulary may lie among them."""
    yield 0, rows
    for size in sorted(set(sizes)):
        for begin in range(rows - size + 1 if size < rows else 0):
            yield begin, begin + size
