"""`python -m benchmarks.resume`: kills training, and shows that no row is lost or seen twice.

Each killed process is followed by one that goes on from the newest checkpoint, with another batch
size. Half of them die in the middle of a step, some lose their session before. The rows of the
steps that the final checkpoint's lineage contains are compared with those of a run that was never
interrupted, noise of the augmentation included. Half of the kills hit the Estimator, half hit fit.
Exit status 1 if any differ.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import warnings

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")


def main() -> int:
    """Runs the rounds and prints one line a case."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.resume", description="Kill training and compare the rows."
    )
    parser.add_argument("--kills", type=int, default=20, help="processes to kill, over all cases")
    parser.add_argument("--seed", type=int, default=1, help="of the points at which they die")
    parser.add_argument("--json", help="file to write the results to")
    arguments = parser.parse_args()

    import tensorflow as tf

    import estimator_io
    from benchmarks.resume.cases import CASES
    from benchmarks.resume.rounds import kill_again_and_again

    estimator_io.compat.install()  # once, for all processes that are forked
    tf.get_logger().setLevel("ERROR")
    warnings.filterwarnings("ignore", message="`shuffle=True` was passed")
    outcomes = []
    runs = [(case, lane) for lane in ("estimator", "fit") for case in CASES]
    if arguments.kills < 5 * len(runs):
        runs = [*runs[0:4:2], *runs[5::2]]  # few kills: each pipeline under one of the two
    for at, (case, lane) in enumerate(runs):
        kills = len(range(at, arguments.kills, len(runs)))
        outcome = kill_again_and_again(case, kills, seed=arguments.seed + at, lane=lane)
        outcomes.append(outcome)
        print(
            f"{lane:<9} {case:<7} {outcome.kills:>5} kills {outcome.recoveries:>4} recoveries"
            f" {outcome.steps:>6} steps {outcome.wrong:>3} wrong",
            flush=True,
        )
    if arguments.json:
        with open(arguments.json, "w") as file:
            json.dump([dataclasses.asdict(outcome) for outcome in outcomes], file, indent=2)
    return int(any(outcome.wrong for outcome in outcomes))


if __name__ == "__main__":
    raise SystemExit(main())
