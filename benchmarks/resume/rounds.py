"""Rounds: one model trained to its last step through many deaths, and compared with no death."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator

from benchmarks.resume.cases import write_records
from benchmarks.resume.fitting import fit
from benchmarks.resume.training import Life, train

__all__ = ["Outcome", "kill_again_and_again"]

LAST_STEP = 30
KILLS_A_ROUND = 10
BATCH_SIZES = (3, 4, 5)
_Train = Callable[[Life], None]


@dataclasses.dataclass
class Outcome:
    """What came of the rounds of one case.

    Attributes:
      case: the pipeline.
      lane: what trained: "estimator" or "fit".
      kills: processes that were killed.
      recoveries: sessions that were lost and made anew within a process.
      steps: steps that the lineages of the final checkpoints contain.
      wrong: rounds whose rows differ from those of the uninterrupted run.
    """

    case: str
    lane: str
    kills: int = 0
    recoveries: int = 0
    steps: int = 0
    wrong: int = 0


def kill_again_and_again(
    case: str,
    kills: int,
    *,
    seed: int,
    lane: str = "estimator",
    trained_by: _Train | None = None,
) -> Outcome:
    """Trains models of one case until `kills` processes were killed.

    The uninterrupted run takes one batch size throughout; interrupted ones take another in each
    process, since rows must go on whatever they are batched by.

    Args:
      case: the pipeline.
      kills: processes to kill.
      seed: of the points at which they die.
      lane: "estimator" or "fit".
      trained_by: what trains in their place, in tests.
    """
    trained_by = trained_by or {"estimator": train, "fit": fit}[lane]
    rng = random.Random(seed)
    outcome = Outcome(case, lane)
    with tempfile.TemporaryDirectory() as folder:
        _in_child(lambda: write_records(folder))
        whole = Life(case, folder, "whole", max(BATCH_SIZES), LAST_STEP)
        _in_child(lambda: trained_by(whole))
        expected = [row for rows in lineage(whole.log) for row in rows]
        number = 0
        while outcome.kills < kills:
            number += 1
            end = min(kills, outcome.kills + KILLS_A_ROUND)
            life = Life(case, folder, f"round{number}", max(BATCH_SIZES), LAST_STEP)
            while outcome.kills < end:
                life = _next_life(life, rng, recovers=lane == "estimator")
                if not _in_child(lambda life=life: trained_by(life)):
                    break  # it lived, so the last step is reached
                outcome.kills += 1
                outcome.recoveries += life.recovers_at is not None
            _in_child(lambda life=life: trained_by(_immortal(life)))
            steps = [*lineage(life.log)]
            rows = [row for step in steps for row in step]
            outcome.steps += len(steps)
            outcome.wrong += len(steps) != LAST_STEP or rows != expected[: len(rows)]
    return outcome


def _next_life(life: Life, rng: random.Random, *, recovers: bool) -> Life:
    """Returns a life that ends a few steps after the one before, or at the same one."""
    dies_at = (life.dies_at or 0) + rng.randint(0, 4)
    return dataclasses.replace(
        life,
        batch_size=rng.choice(BATCH_SIZES),
        dies_at=dies_at,
        within=rng.random() < 0.5,
        recovers_at=dies_at - 1 if recovers and dies_at > 1 and rng.random() < 0.3 else None,
    )


def _immortal(life: Life) -> Life:
    return dataclasses.replace(life, dies_at=None, recovers_at=None)


def lineage(log: str) -> Iterator[list[int]]:
    """Yields the rows of each step that was not trained over again later."""
    steps: list[list[int]] = []
    with open(log) as file:
        for line in file:
            step, rows = json.loads(line)
            if step > len(steps):
                raise AssertionError(f"{log}: step {step} follows {len(steps)} steps")
            del steps[step:]
            steps.append(rows)
    yield from steps


def _in_child(work: Callable[[], None]) -> bool:
    """Runs `work` in a forked process; returns whether it was killed.

    TensorFlow is imported once, here, and starts nothing before the fork.
    """
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            os._exit(1)
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return True
    if os.WEXITSTATUS(status):
        raise RuntimeError("a training process failed; its error stands above")
    return False
