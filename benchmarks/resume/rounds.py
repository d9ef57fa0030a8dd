"""Rounds: one model trained to its last step through many deaths, and compared with no death."""

from __future__ import annotations

import dataclasses
import json
import os
import random
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Iterator

from benchmarks.resume.cases import BATCH_SIZES, write_records
from benchmarks.resume.fitting import fit
from benchmarks.resume.training import Life, train

__all__ = ["Outcome", "Reference", "kill_again_and_again", "play_round"]

LAST_STEP = 30
KILLS_A_ROUND = 10
TIMED = 0.25  # the share of kills that come at a moment of their own, wherever the process is then
LONGEST_LIFE = 2.5  # seconds until such a kill, at most
_Train = Callable[[Life], None]


@dataclasses.dataclass
class Outcome:
    """What came of one round, or of several of one case.

    Attributes:
      case: the pipeline.
      lane: what trained: "estimator" or "fit".
      kills: processes that were killed.
      within: those of them that were killed in the middle of a step.
      timed: those that were killed at a drawn moment: starting, stepping or saving.
      recoveries: sessions that were lost and made anew within a process.
      steps: steps that the lineages of the final checkpoints contain.
      wrong: rounds whose rows differ from those of the uninterrupted run.
    """

    case: str
    lane: str
    kills: int = 0
    within: int = 0
    timed: int = 0
    recoveries: int = 0
    steps: int = 0
    wrong: int = 0

    def add(self, other: Outcome) -> None:
        """Adds the counts of another outcome of the same case."""
        for field in dataclasses.fields(self):
            if field.type == "int":
                total = getattr(self, field.name) + getattr(other, field.name)
                setattr(self, field.name, total)


class Reference:
    """The rows of an uninterrupted run of one case, in a folder that its rounds share.

    Args:
      case: the pipeline.
      lane: "estimator" or "fit".
      folder: for records and models.
      trained_by: what trains in their place, in tests.
    """

    def __init__(self, case: str, lane: str, folder: str, trained_by: _Train | None = None) -> None:
        self.case = case
        self.lane = lane
        self.folder = folder
        self.trained_by = trained_by or {"estimator": train, "fit": fit}[lane]
        in_child(lambda: write_records(folder))
        whole = self.life("whole")
        in_child(lambda: self.trained_by(whole))
        self.rows = [row for rows in lineage(whole.log) for row in rows]

    def life(self, model: str) -> Life:
        """Returns a life without an end of its own."""
        return Life(self.case, self.folder, model, max(BATCH_SIZES[self.case]), LAST_STEP)


def kill_again_and_again(
    case: str,
    kills: int,
    *,
    seed: int,
    lane: str = "estimator",
    trained_by: _Train | None = None,
) -> Outcome:
    """Trains models of one case until `kills` processes were killed.

    Args:
      case: the pipeline.
      kills: processes to kill.
      seed: of the points at which they die.
      lane: "estimator" or "fit".
      trained_by: what trains in their place, in tests.
    """
    total = Outcome(case, lane)
    with tempfile.TemporaryDirectory() as folder:
        reference = Reference(case, lane, folder, trained_by)
        number = 0
        while total.kills < kills:
            most = min(KILLS_A_ROUND, kills - total.kills)
            total.add(play_round(reference, number, most, seed=seed))
            number += 1
    return total


def play_round(reference: Reference, number: int, kills: int, *, seed: int) -> Outcome:
    """Trains one model to its last step, through at most `kills` deaths, and compares its rows.

    The uninterrupted run takes one batch size throughout; an interrupted one takes another in each
    process, since rows must go on whatever they are batched by.
    """
    rng = random.Random(f"{seed}/{reference.lane}/{reference.case}/{number}")
    outcome = Outcome(reference.case, reference.lane)
    life = reference.life(f"round{number}")
    train_it = reference.trained_by
    while outcome.kills < kills:
        life = _next_life(life, rng, recovers=reference.lane == "estimator")
        death = in_child(lambda life=life: train_it(life), seconds=life.seconds)
        outcome.recoveries += life.recovers_at is not None and os.path.exists(life.recovered)
        if death is None:
            break  # it lived, so the last step is reached
        outcome.kills += 1
        outcome.within += death == "step" and life.within
        outcome.timed += death == "timer"
    immortal = dataclasses.replace(life, dies_at=None, recovers_at=None, seconds=None)
    in_child(lambda: train_it(immortal))
    steps = [*lineage(life.log)]
    rows = [row for step in steps for row in step]
    outcome.steps = len(steps)
    outcome.wrong = int(len(steps) != LAST_STEP or rows != reference.rows[: len(rows)])
    return outcome


def _next_life(life: Life, rng: random.Random, *, recovers: bool) -> Life:
    """Returns a life that ends a few steps after the one before, or at the same one."""
    dies_at = (life.dies_at or 0) + rng.randint(0, 4)
    return dataclasses.replace(
        life,
        number=life.number + 1,
        batch_size=rng.choice(BATCH_SIZES[life.case]),
        dies_at=dies_at,
        within=rng.random() < 0.5,
        recovers_at=dies_at - 1 if recovers and dies_at > 1 and rng.random() < 0.4 else None,
        seconds=rng.uniform(0, LONGEST_LIFE) if rng.random() < TIMED else None,
    )


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


def in_child(work: Callable[[], None], *, seconds: float | None = None) -> str | None:
    """Runs `work` in a forked process.

    TensorFlow is imported once, here, and starts nothing before the fork.

    Args:
      work: what to run.
      seconds: when to kill it, unless it ends before; None leaves that to `work`.

    Returns:
      What killed the process: "step", its own hand, or "timer"; None where it lived.
    """
    child = os.fork()
    if not child:
        try:
            work()
            os._exit(0)
        except BaseException:
            traceback.print_exc(file=sys.stderr)
            os._exit(1)
    timed = _ended_by_timer(child, seconds) if seconds is not None else False
    status = os.waitpid(child, 0)[1]
    if os.WIFSIGNALED(status):
        return "timer" if timed else "step"
    if os.WEXITSTATUS(status):
        raise RuntimeError("a training process failed; its error stands above")
    return None


def _ended_by_timer(child: int, seconds: float) -> bool:
    """Waits for the end of a process, and kills it after `seconds`; returns whether it had to."""
    fired = []

    def kill() -> None:
        fired.append(True)
        os.kill(child, signal.SIGKILL)

    killer = threading.Timer(seconds, kill)
    killer.start()
    # The child is only looked at, so that its number is not given away while the timer may run.
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    killer.cancel()
    killer.join()
    return bool(fired)
