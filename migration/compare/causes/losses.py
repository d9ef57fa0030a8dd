"""Causes in the loss, found from losses at equal weights.

Cross-entropies are computed here in float64 from the model's outputs and the labels.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np

from migration.compare.evidence import Cause, Evidence, Losses

__all__ = [
    "from_logits",
    "label_smoothing",
    "loss_reduction",
    "random_training",
    "regularization",
    "training_regularization",
]

AGREEMENT = 1e-4


def loss_reduction(evidence: Evidence) -> Cause | None:
    """The losses stand in the ratio of two of the numbers that a sum over rows is divided by."""
    losses = evidence.evaluation
    if losses is None or _agree(losses.estimator, losses.model):
        return None
    divisors = _divisors(losses)
    for first, second in itertools.permutations(divisors, 2):
        if _agree(divisors[first], divisors[second]):
            continue
        for estimator, model in _without_penalties(losses):
            if _agree(estimator * divisors[first], model * divisors[second]):
                ratio = float(np.mean(model / estimator))
                return Cause(
                    "loss reduction",
                    f"The model's loss is {ratio:.6g} times the Estimator's (mean of"
                    f" {len(losses.batches)} batches), as if the Estimator's were {first} and the"
                    f" model's {second}.",
                    "v1 losses divide by the number of weights other than 0"
                    " (SUM_BY_NONZERO_WEIGHTS), v1 canned heads sum, Keras divides by the batch"
                    " size: give both the same reduction, or scale loss and learning rate.",
                )
    return None


def regularization(evidence: Evidence) -> Cause | None:
    """The losses differ by the same amount in every batch."""
    return None if evidence.evaluation is None else _constant(evidence, evidence.evaluation)


def training_regularization(evidence: Evidence) -> Cause | None:
    """Evaluation agrees, and the first training loss differs by a regularisation loss."""
    evaluation, training = evidence.evaluation, evidence.training
    if training is None or evaluation is None or not _agree(evaluation.estimator, evaluation.model):
        return None
    return _constant(evidence, training)


def _constant(evidence: Evidence, losses: Losses) -> Cause | None:
    if evidence.predictions_differ or (not np.ptp(losses.estimator) and len(losses.batches) > 1):
        return None  # then a term of the loss is not what parts them, or cannot be seen
    apart = losses.model - losses.estimator
    shift = float(np.mean(apart))
    noise = 1e-5 * float(np.max(np.abs(losses.estimator)))
    if abs(shift) <= noise or np.ptp(apart) > noise + AGREEMENT * abs(shift):
        return None
    first, second = losses.penalties
    for owner, amount in (("model", second), ("Estimator", -first), ("both", second - first)):
        if amount and abs(shift - amount) <= noise + AGREEMENT * abs(shift):
            who = {
                "model": f"The model adds {second:.6g} of model.losses, the Estimator nothing",
                "Estimator": f"The Estimator adds {first:.6g}, its REGULARIZATION_LOSSES, the model"
                " nothing",
                "both": f"The Estimator adds {first:.6g} and the model {second:.6g}",
            }[owner]
            return Cause("regularisation", f"{who}.", _REGULARIZE)
    if len(losses.batches) < 2:
        return None
    kernels = [
        values[0][0]
        for name, values in evidence.first.items()
        if np.ndim(values[0][0]) > 1 and evidence.first_gradients.get(name) != (None, None)
    ]
    squares = sum(float(np.sum(np.square(k, dtype=np.float64))) for k in kernels)
    strength = f"; as L2 over all kernels it were {abs(shift) / squares:.3g} * sum(w²)"
    return Cause(
        "regularisation",
        f"The {'model' if shift > 0 else 'Estimator'} adds {abs(shift):.6g} to every batch,"
        f" whatever is in it{strength if squares else ''}.",
        _REGULARIZE,
    )


_REGULARIZE = (
    "Keras adds the losses of its regularizers by itself; a model_fn must add"
    " tf.losses.get_regularization_loss(). l2(s) is s * sum(w²) in Keras, tf.nn.l2_loss half of it."
)


def from_logits(evidence: Evidence) -> Cause | None:
    """One loss reads the outputs as logits, the other as probabilities."""
    losses = evidence.evaluation
    if losses is None or _agree(losses.estimator, losses.model):
        return None
    readings = [_Reading.of(*each) for each in zip(losses.batches, losses.outputs, strict=False)]
    if len(readings) != len(losses.batches) or any(each is None for each in readings):
        return None
    known = [each for each in readings if each is not None]
    logits = np.array([each.as_logits for each in known])
    probabilities = np.array([each.as_probabilities for each in known])
    if all(each.probabilities for each in known):
        right, twice = probabilities, logits
        for owner, one, other in (
            ("model", losses.estimator, losses.model),
            ("Estimator", losses.model, losses.estimator),
        ):
            if _agree(one, right) and _agree(other, twice):
                return Cause(
                    "from_logits",
                    f"The {owner}'s loss is the cross-entropy that reads the probabilities that"
                    " the model gives as logits: the softmax or sigmoid is applied twice.",
                    "Give from_logits=False, or let the last layer give logits.",
                )
    elif _agree(losses.estimator, logits) and _agree(losses.model, probabilities):
        return Cause(
            "from_logits",
            "The Estimator's loss is the cross-entropy of the model's outputs as logits; the"
            " model's loss is that of probabilities, which they are not.",
            "Give the loss from_logits=True.",
        )
    return None


def label_smoothing(evidence: Evidence) -> Cause | None:
    """The losses are the same cross-entropy with labels that are smoothed unlike."""
    losses = evidence.evaluation
    if losses is None or _agree(losses.estimator, losses.model):
        return None
    readings = [_Reading.of(*each) for each in zip(losses.batches, losses.outputs, strict=False)]
    known = [each for each in readings if each is not None]
    if len(known) != len(losses.batches):
        return None
    base = np.array([each.right for each in known])
    spread = np.array([each.uniform for each in known])
    found = []
    for values in (losses.estimator, losses.model):
        slope = spread - base
        smoothing = float(slope @ (values - base) / (slope @ slope))
        fits = _agree(values, base + smoothing * slope)
        # One batch has an exact solution always, so it must be a number that people would write.
        nice = len(known) > 1 or abs(smoothing - round(smoothing, 2)) < 1e-4
        if not fits or not nice or not -1e-4 < smoothing < 0.9:
            return None
        found.append(smoothing)
    if abs(found[0] - found[1]) < 1e-3:
        return None
    return Cause(
        "label smoothing",
        f"The losses are the cross-entropy with labels smoothed by {found[0]:.3f} (Estimator) and"
        f" {found[1]:.3f} (model).",
        "Give both losses the same label_smoothing.",
    )


def random_training(evidence: Evidence) -> Cause | None:
    """A training step of one side is random: dropout, or noise."""
    sides = {"Estimator": evidence.estimator, "model": evidence.model}
    random = [n for n, s in sides.items() if s.varies(evidence.kept[0], training=True)]
    if not random:
        return None
    both = len(random) == 2
    return Cause(
        "dropout in training",
        f"{'Both' if both else f'Only the {random[0]}'} gave another result for the same batch and"
        " the same variables in training mode.",
        "Two random number generators never drop the same units: compare with a rate of 0."
        if both
        else "Give the other side the same dropout, and compare with a rate of 0 on both.",
    )


@dataclasses.dataclass(frozen=True)
class _Reading:
    """Cross-entropies of one batch: the means over its rows."""

    probabilities: bool
    as_logits: float
    as_probabilities: float
    uniform: float

    @property
    def right(self) -> float:
        """The one that the outputs look like."""
        return self.as_probabilities if self.probabilities else self.as_logits

    @classmethod
    def of(cls, batch, output) -> _Reading | None:
        """Returns the readings; None where the labels are no classes."""
        if isinstance(batch.labels, dict) or batch.weights is not None:
            return None
        labels = np.asarray(batch.labels)
        z = np.asarray(output, np.float64)
        if labels.dtype.kind not in "iufb" or z.ndim == 0:
            return None
        if labels.size == z.size and set(np.unique(labels)) <= {0, 1} and z.shape[-1] == 1:
            return cls._binary(labels.reshape(-1).astype(np.float64), z.reshape(-1))
        if z.ndim == 2 and labels.shape == z.shape and np.allclose(labels.sum(-1), 1):
            return cls._classes(labels.astype(np.float64), z)
        if z.ndim == 2 and labels.size == len(z) and labels.dtype.kind in "iu":
            inside = labels.min() >= 0 and labels.max() < z.shape[1]
            return cls._classes(np.eye(z.shape[1])[labels.reshape(-1)], z) if inside else None
        return None

    @classmethod
    def _binary(cls, y: np.ndarray, z: np.ndarray) -> _Reading:
        p = np.clip(z, 1e-7, 1 - 1e-7)
        within = bool(np.all((z >= 0) & (z <= 1)))
        log = -np.logaddexp(0, -z), -np.logaddexp(0, z)
        told: tuple[Any, Any] = log if not within else (np.log(p), np.log1p(-p))
        return cls(
            within,
            float(np.mean(-y * log[0] - (1 - y) * log[1])),
            float(np.mean(-y * np.log(p) - (1 - y) * np.log1p(-p))),
            float(np.mean(-(told[0] + told[1]) / 2)),
        )

    @classmethod
    def _classes(cls, y: np.ndarray, z: np.ndarray) -> _Reading:
        within = bool(np.all(z >= 0) and np.allclose(z.sum(-1), 1, atol=1e-4))
        log = z - np.logaddexp.reduce(z, axis=-1, keepdims=True)
        # As Keras does, for class numbers: clipped, and then made to sum to 1.
        clipped = np.clip(z, 1e-7, 1 - 1e-7)
        log_p = np.log(clipped / clipped.sum(-1, keepdims=True))
        return cls(
            within,
            float(np.mean(-np.sum(y * log, -1))),
            float(np.mean(-np.sum(y * log_p, -1))),
            float(np.mean(-(log_p if within else log))),
        )


def _divisors(losses: Losses) -> dict[str, np.ndarray]:
    weights = [batch.weights_or_ones() for batch in losses.batches]
    found = {
        "summed": np.ones(len(weights)),
        "divided by the batch size": np.array([float(len(w)) for w in weights]),
        "divided by the number of weights other than 0": np.array(
            [float(np.count_nonzero(w)) for w in weights]
        ),
        "divided by the sum of the weights": np.array([float(w.sum()) for w in weights]),
    }
    if len(losses.outputs) == len(losses.batches):
        found["divided by the number of outputs"] = np.array(
            [float(o.size) for o in losses.outputs]
        )
    return {name: value for name, value in found.items() if np.all(value > 0)}


def _without_penalties(losses: Losses) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    first, second = losses.penalties
    for one, other in dict.fromkeys(itertools.product((0.0, first), (0.0, second))):
        yield losses.estimator - one, losses.model - other


def _agree(first: np.ndarray, second: np.ndarray) -> bool:
    scale = np.maximum(np.abs(first), np.abs(second))
    return bool(np.all(np.abs(first - second) <= AGREEMENT / 5 * scale + 1e-9))
