"""Causes in the moving statistics of batch normalisation, found from their first update.

Both sides make `moving = moving * momentum + batch * (1 - momentum)` of the same batch, so their
first updates are in the ratio of their 1 - momentum.
"""

from __future__ import annotations

import numpy as np

from migration.compare.evidence import Cause, Evidence
from migration.compare.keras_side import KerasSide

__all__ = ["batch_norm_momentum", "update_ops"]


def update_ops(evidence: Evidence) -> Cause | None:
    """One side never updates its moving statistics."""
    still = {"Estimator": [], "model": []}
    for name, first, second in _updates(evidence):
        if not np.any(first) and np.any(second):
            still["Estimator"].append(name)
        if np.any(first) and not np.any(second):
            still["model"].append(name)
    for owner, names in still.items():
        if names:
            return Cause(
                "moving statistics not updated",
                f"At the first step the {owner} left {', '.join(names)} as they were.",
                "Run the train_op of a model_fn under tf.control_dependencies(tf.get_collection("
                "tf.GraphKeys.UPDATE_OPS)), use tf.compat.v1.layers there instead of Keras layers,"
                " and call Keras layers with training=True.",
            )
    return None


def batch_norm_momentum(evidence: Evidence) -> Cause | None:
    """The first updates of the moving statistics are in one ratio that is not 1."""
    if not isinstance(evidence.model, KerasSide):
        return None
    layers = [layer for layer in evidence.model.layers() if hasattr(layer, "moving_mean")]
    momenta = {float(layer.momentum) for layer in layers}
    if len(momenta) != 1:
        return None
    (momentum,) = momenta
    means = [_ratio(*pair) for name, *pair in _updates(evidence) if not _is_variance(name)]
    known = [ratio for ratio in means if ratio is not None]
    if known and abs(known[0] - 1) >= 1e-3:
        other = 1 - (1 - momentum) * known[0]
        return Cause(
            "batch-norm momentum",
            f"The first update of the moving means is {known[0]:.4g} times as large in the"
            f" Estimator: its momentum is {other:.4g}, that of the model {momentum:.4g}.",
            f"Give BatchNormalization(momentum={other:.4g}); tf.compat.v1.layers has 0.99, slim and"
            " contrib have 0.999.",
        )
    return _bessel(evidence, momentum) if known else None


def _bessel(evidence: Evidence, momentum: float) -> Cause | None:
    """The means agree, and the batch's variance is larger by n / (n - 1) on one side."""
    for name, *changes in _updates(evidence):
        if _is_variance(name):
            before = evidence.first[name][0][0]
            variances = [before + change / (1 - momentum) for change in changes]
            ratio = _ratio(*variances)
            if ratio is not None and abs(ratio - 1) > 1e-4:
                return Cause(
                    "batch-norm variance",
                    f"The means agree; the variance of the first batch is {ratio:.6g} times as"
                    " large in the Estimator.",
                    "Fused kernels (rank 4) multiply the variance by n / (n - 1), others do not:"
                    " give both the same `fused`.",
                )
    return None


def _updates(evidence: Evidence):
    """Yields name and first update of both sides for each variable that is not trained."""
    trained = {pair.estimator for pair in evidence.pairs if pair.trainable}
    for name, ((before, after), (other_before, other_after)) in evidence.first.items():
        if name not in trained:
            yield name, after - before, other_after - other_before


def _ratio(first: np.ndarray, second: np.ndarray) -> float | None:
    """Returns first / second where it is one number for all elements."""
    large = np.abs(second) > 0.05 * np.max(np.abs(second), initial=0)
    if not np.any(large & (second != 0)):
        return None
    ratios = first[large] / second[large]
    middle = float(np.median(ratios))
    return middle if np.all(np.abs(ratios - middle) < 2e-2 * abs(middle)) else None


def _is_variance(name: str) -> bool:
    return name.endswith("variance")
