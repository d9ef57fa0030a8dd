"""The known causes of a difference, each with a test of its own on the measured numbers.

A test returns a `Cause` where the numbers speak for it, and None otherwise. docs/migrate.md has the
table for readers.
"""

from __future__ import annotations

from collections.abc import Callable

from migration.compare.causes import losses, moving, starting, updates
from migration.compare.evidence import Cause, Evidence

__all__ = ["AT_START", "IN_TRAINING", "at_start", "in_training"]

Test = Callable[[Evidence], Cause | None]

# The order is that of the report: what makes others follow comes first.
AT_START: tuple[Test, ...] = (
    starting.starting_weights,
    starting.random_evaluation,
    starting.row_order,
    starting.batch_norm_epsilon,
    losses.from_logits,
    losses.loss_reduction,
    losses.label_smoothing,
    losses.regularization,
)
IN_TRAINING: tuple[Test, ...] = (
    losses.random_training,
    losses.training_regularization,
    moving.update_ops,
    moving.batch_norm_momentum,
    updates.untrained_variables,
    updates.touched_rows,
    updates.checkpoint_slots,
    updates.optimizer,
    updates.adam_epsilon,
    updates.adagrad_accumulator,
    updates.learning_rate,
    updates.adam_rounding,
)


def at_start(evidence: Evidence) -> list[Cause]:
    """Returns the causes that predictions and evaluations before training speak for."""
    return _answers(AT_START, evidence)


def in_training(evidence: Evidence) -> list[Cause]:
    """Returns the causes that the training steps speak for."""
    return _answers(IN_TRAINING, evidence)


def _answers(tests: tuple[Test, ...], evidence: Evidence) -> list[Cause]:
    return [cause for test in tests if (cause := test(evidence)) is not None]
