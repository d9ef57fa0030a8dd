"""Causes in the optimizer, found from gradients and from what the step made of them.

Each side is fitted on its own gradients (`fitting`), so another gradient is not taken for another
optimizer.
"""

from __future__ import annotations

import numpy as np

from migration.compare.causes.fitting import BETA_2, Rates, adam_fit, rates_of
from migration.compare.evidence import Cause, Evidence
from migration.compare.keras_side import KerasSide

__all__ = [
    "adagrad_accumulator",
    "adam_epsilon",
    "adam_rounding",
    "checkpoint_slots",
    "learning_rate",
    "optimizer",
    "touched_rows",
    "untrained_variables",
]

SAME_RATE = 2e-3
# What Adam's first update is larger by, with the second moment of one and its float32 twin.
ROUNDED = float(np.sqrt((1 - BETA_2) / (1 - float(np.float32(BETA_2)))))


def untrained_variables(evidence: Evidence) -> Cause | None:
    """A variable is trained on one side and has no gradient on the other."""
    frozen = {"Estimator": [], "model": []}
    for name, (first, second) in evidence.first_gradients.items():
        if (first is None) != (second is None):
            frozen["Estimator" if first is None else "model"].append(name)
    told = [
        f"the {owner} has none for {', '.join(names)}" for owner, names in frozen.items() if names
    ]
    if not told:
        return None
    return Cause(
        "untrained variables",
        f"Gradients: {'; '.join(told)}.",
        "The loss does not depend on them there: look for tf.stop_gradient, an output that is not"
        " used, or a layer that is not called.",
    )


def touched_rows(evidence: Evidence) -> Cause | None:
    """The first batch reaches other rows of a weight."""
    for name, pair in evidence.first_gradients.items():
        if any(value is None or np.ndim(value) != 2 for value in pair):
            continue
        rows = [set(np.flatnonzero(np.any(value != 0, axis=1)).tolist()) for value in pair]
        if rows[0] != rows[1] and all(0 < len(each) < len(pair[0]) for each in rows):
            only = [sorted(rows[0] - rows[1])[:5], sorted(rows[1] - rows[0])[:5]]
            return Cause(
                "vocabulary order",
                f"The first batch reaches the rows {only[0]} of {name} in the Estimator alone, and"
                f" {only[1]} in the model alone.",
                "A vocabulary column puts its OOV buckets behind the words, StringLookup puts them"
                " first: look words up in the same order.",
            )
    return None


def checkpoint_slots(evidence: Evidence) -> Cause | None:
    """The Estimator goes on with the slots of its checkpoint, the model's optimizer begins."""
    side, model = evidence.estimator, evidence.model
    if not isinstance(model, KerasSide) or side.optimizer == "sgd":
        return None
    if side.start_step == 0 or model.iterations == side.start_step:
        return None
    return Cause(
        "optimizer slots",
        f"The Estimator goes on with the {side.optimizer} slots of step {side.start_step}, the"
        f" model's optimizer stands at iteration {model.iterations}.",
        "Compare from the checkpoint of step 0, or give the optimizer the slots of the checkpoint.",
    )


def optimizer(evidence: Evidence) -> Cause | None:
    """The slot variables of the graph are those of another optimizer."""
    names = evidence.estimator.optimizer, evidence.model.optimizer
    if names[0] == names[1]:
        return None
    return Cause(
        "optimizer",
        f"The Estimator's variables are those of {names[0]}, the model has {names[1]}.",
        "Compile the model with the counterpart of the Estimator's optimizer.",
    )


def adam_epsilon(evidence: Evidence) -> Cause | None:
    """Both first updates are Adam's, with another epsilon."""
    if not _both(evidence, "adam"):
        return None
    fits = [adam_fit(updates) for updates in evidence.updates or ()]
    if any(fit is None for fit in fits):
        return None
    (rate, epsilon), (other_rate, other) = (fit for fit in fits if fit is not None)
    # Below that, rounding hides it: 0 and 1e-12 are the same epsilon here.
    if abs(epsilon - other) < max(0.2 * max(epsilon, other), 2e-9):
        return None
    return Cause(
        "Adam epsilon",
        f"The first update follows Adam with epsilon {max(epsilon, 0):.2g} (learning rate"
        f" {rate:.4g}) in the Estimator and {max(other, 0):.2g} ({other_rate:.4g}) in the model.",
        "tf.compat.v1.train.AdamOptimizer has 1e-8, Keras has 1e-7: give Adam(epsilon=…).",
    )


def adam_rounding(evidence: Evidence) -> Cause | None:
    """The first updates differ as float32's 1 - beta_2 does from that of Python."""
    if not _both(evidence, "adam"):
        return None
    fits = [adam_fit(updates) for updates in evidence.updates or ()]
    if any(fit is None for fit in fits):
        return None
    (rate, _), (other, _) = (fit for fit in fits if fit is not None)
    if abs(rate / other - ROUNDED) > abs(ROUNDED - 1) / 4:
        return None
    return Cause(
        "Adam beta_2",
        f"The Estimator's first update is {rate / other:.7f} times the model's: TensorFlow's kernel"
        " takes 1 - beta_2 in float32, Keras in Python.",
        "Give Adam(beta_1=float(np.float32(0.9)), beta_2=float(np.float32(0.999))), or a tolerance"
        " of 1e-4.",
    )


def adagrad_accumulator(evidence: Evidence) -> Cause | None:
    """Adagrad's accumulators begin with other values."""
    if not _both(evidence, "adagrad") or evidence.estimator.start_step:
        return None
    values = _accumulators(evidence)
    if values is None or abs(values[0] - values[1]) <= 1e-4 * max(values):
        return None
    return Cause(
        "Adagrad initial accumulator",
        f"The accumulators begin with {values[0]:.4g} in the Estimator and {values[1]:.4g} in the"
        " model.",
        f"Give Adagrad(initial_accumulator_value={values[0]:.4g}).",
    )


def learning_rate(evidence: Evidence) -> Cause | None:
    """The updates follow the same rule with other learning rates, or another schedule."""
    rates = _rates(evidence)
    if rates is None:
        return None
    first, second = rates
    clipped = _clipping(evidence, first, second)
    if clipped is not None:
        return clipped
    ratios = second.values / first.values
    at = [1 + int(step) for step in np.flatnonzero(np.abs(ratios - 1) > _noise(len(ratios)))]
    if not at:
        return None
    told = f"the Estimator {first}, the model {second}"
    if first.constant and second.constant:
        return Cause(
            "learning rate",
            f"The updates follow {told}: {ratios[0]:.4g} times.",
            "Give both the same learning rate; a loss that is summed needs a smaller one.",
        )
    return Cause(
        "learning-rate schedule",
        f"From step {at[0]} on the updates follow other learning rates: {told}, … by step.",
        "Give the optimizer a keras.optimizers.schedules object with the decay of the model_fn,"
        " counted in steps.",
    )


def _clipping(evidence: Evidence, first: Rates, second: Rates) -> Cause | None:
    """Plain gradient descent whose rate falls as the norm grows, on one side."""
    if not _both(evidence, "sgd") or first.constant == second.constant:
        return None
    owner = 0 if second.constant else 1
    rates, other = ((first, second), (second, first))[owner]
    full = float(other.values[0])
    norms = np.array((evidence.updates or ())[owner].norms)
    small = rates.values < full * (1 - SAME_RATE)
    bounds = (rates.values * norms)[small] / full
    if np.count_nonzero(small) < 2 or np.ptp(bounds) > 1e-2 * float(np.mean(bounds)):
        return None
    return Cause(
        "gradient clipping",
        f"The {('Estimator', 'model')[owner]} scales its gradients down to the global norm"
        f" {float(np.mean(bounds)):.4g}, the {('model', 'Estimator')[owner]} does not.",
        "tf.clip_by_global_norm is the argument global_clipnorm of Keras optimizers, and"
        " tf.clip_by_norm of each gradient is clipnorm.",
    )


def _both(evidence: Evidence, family: str) -> bool:
    known = evidence.updates is not None and isinstance(evidence.model, KerasSide)
    return known and all(updates.optimizer == family for updates in evidence.updates or ())


def _rates(evidence: Evidence) -> tuple[Rates, Rates] | None:
    if evidence.updates is None or evidence.estimator.start_step:
        return None
    first, second = evidence.updates
    if first.optimizer != second.optimizer or not first.gradients:
        return None
    accumulators = _accumulators(evidence) or (0.1, 0.1)
    found = [rates_of(*each) for each in zip((first, second), accumulators, strict=True)]
    common = min(map(len, found))
    return (Rates(found[0][:common]), Rates(found[1][:common])) if common else None


def _accumulators(evidence: Evidence) -> tuple[float, float] | None:
    """Returns the starting value of Adagrad's accumulators on both sides."""
    if not isinstance(evidence.model, KerasSide):
        return None
    value = getattr(evidence.model.model.optimizer, "initial_accumulator_value", None)
    slots = {value for pair in evidence.estimator.slots.values() for value in pair}
    if value is None or len(slots) != 1:
        return None
    return slots.pop(), float(value)


def _noise(steps: int) -> np.ndarray:
    """Returns what a ratio of rates may be off by: the recursions drift behind the first step."""
    return np.array([SAME_RATE, *[1e-2] * (steps - 1)])
