"""The task of type "evaluator": evaluates what another process trains."""

from __future__ import annotations

from collections.abc import Sequence

from migration.loop.evaluation import Evaluation
from migration.loop.timing import Clock

__all__ = ["evaluate_until"]

# Seconds between two looks for a checkpoint where throttle_secs=0 would look without a pause.
_SHORTEST_WAIT = 1.0


def evaluate_until(max_steps: int | None, evaluations: Sequence[Evaluation], clock: Clock) -> None:
    """Evaluates new checkpoints until that of max_steps; for ever where it is None.

    The first look is after `start_delay_secs`, later ones `throttle_secs` after the start of the
    one before.

    Args:
      max_steps: of the TrainSpec.
      evaluations: one for each EvalSpec.
      clock: tells the time, and waits.
    """
    begun = clock.time()
    due = {evaluation: begun + evaluation.spec.start_delay_secs for evaluation in evaluations}
    while due:
        evaluation = min(due, key=lambda each: due[each])
        if due[evaluation] > clock.time():
            clock.sleep(due[evaluation] - clock.time())
        start = clock.time()
        found = evaluation.run()
        metrics = evaluation.result[0]
        if max_steps and metrics is not None and metrics["global_step"] >= max_steps:
            del due[evaluation]
            continue
        shortest = 0.0 if found else _SHORTEST_WAIT
        due[evaluation] = start + max(evaluation.spec.throttle_secs, shortest)
