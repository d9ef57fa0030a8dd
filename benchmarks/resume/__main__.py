"""`python -m benchmarks.resume`: kills training, and shows that no row is lost or seen twice.

Each killed process is followed by one that goes on from the newest checkpoint, with another batch
size. Some die between steps, some in the middle of one, a quarter at a drawn moment, wherever they
are then: starting, stepping, saving. Under the Estimator some lose their session before. The rows
of the steps that the final checkpoint's lineage contains are compared with those of a run that was
never interrupted, noise of the augmentation included. Half of the rounds train under the Estimator,
half under fit. Exit status 1 if any differ.

With `--log` each round is a JSON line that is added as soon as it is played, and a later run with
the same log and seed goes on after the rounds that stand there. `--summary LOG…` adds them up.
"""

from __future__ import annotations

import argparse
import dataclasses
import itertools
import json
import os
import sys
import tempfile
import warnings
from collections.abc import Iterator

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def main(arguments: list[str] | None = None) -> int:
    """Plays the rounds and prints one line a case."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.resume", description="Kill training and compare the rows."
    )
    parser.add_argument("--kills", type=int, default=20, help="processes to kill, over all cases")
    parser.add_argument("--seed", type=int, default=1, help="of the points at which they die")
    parser.add_argument("--log", help="file of JSON lines, one a round; goes on where it ends")
    parser.add_argument("--summary", nargs="+", metavar="LOG", help="add up logs, kill nothing")
    given = parser.parse_args(arguments)
    if given.summary:
        return _summary([line for log in given.summary for line in _read(log)])
    played = _read(given.log) if given.log else []
    for outcome in _play(given.kills, given.seed, played):
        played.append(outcome)
        if given.log:
            with open(given.log, "a") as file:
                file.write(json.dumps(outcome) + "\n")
    return _summary(played)


def _play(kills: int, seed: int, played: list[dict]) -> Iterator[dict]:
    """Plays rounds, each case in turn, until `kills` processes were killed."""
    import tensorflow as tf

    import estimator_io
    from benchmarks.resume.cases import CASES
    from benchmarks.resume.rounds import KILLS_A_ROUND, Reference, play_round

    estimator_io.compat.install()  # once, for all processes that are forked
    tf.get_logger().setLevel("ERROR")
    warnings.filterwarnings("ignore", message="`shuffle=True` was passed")
    runs = [(case, lane) for case in CASES for lane in ("estimator", "fit")]
    a_round = KILLS_A_ROUND
    if kills < 5 * len(runs):  # few kills: each pipeline under one of the two
        runs = [(case, ("estimator", "fit")[at % 2]) for at, case in enumerate(CASES)]
        a_round = max(1, kills // len(runs))
    killed = sum(outcome["kills"] for outcome in played)
    with tempfile.TemporaryDirectory() as folder:
        references: dict[tuple[str, str], Reference] = {}
        for number in itertools.count(len(played)):
            if killed >= kills:
                return
            case, lane = runs[number % len(runs)]
            if (case, lane) not in references:
                place = os.path.join(folder, lane, case)
                os.makedirs(place)
                references[case, lane] = Reference(case, lane, place)
            most = min(a_round, kills - killed)
            outcome = play_round(references[case, lane], number, most, seed=seed)
            killed += outcome.kills
            yield {"tensorflow": tf.__version__, "round": number, **dataclasses.asdict(outcome)}


def _read(log: str) -> list[dict]:
    if not os.path.exists(log):
        return []
    with open(log) as file:
        return [json.loads(line) for line in file]


def _summary(played: list[dict]) -> int:
    """Prints the sums for each TensorFlow, lane and case; returns the exit status."""
    counts = ("kills", "within", "timed", "recoveries", "steps", "wrong")
    groups: dict[tuple[str, ...], list[dict]] = {}
    for outcome in played:
        key = (outcome["tensorflow"], outcome["lane"], outcome["case"])
        groups.setdefault(key, []).append(outcome)
        groups.setdefault(("all", "", ""), []).append(outcome)
    print(f"{'':<30} rounds " + " ".join(f"{name:>10}" for name in counts))
    for key in sorted(groups):
        sums = [sum(outcome[name] for outcome in groups[key]) for name in counts]
        row = " ".join(f"{total:>10}" for total in sums)
        print(f"{' '.join(key):<30} {len(groups[key]):>6} {row}")
    return int(any(outcome["wrong"] for outcome in played))


if __name__ == "__main__":
    sys.exit(main())
