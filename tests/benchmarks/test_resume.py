"""`python -m benchmarks.resume` kills training at twenty points, and would notice a wrong row."""

import json
import os

import pytest

from benchmarks.resume import rounds
from benchmarks.resume.__main__ import main
from benchmarks.resume.cases import CASES
from benchmarks.resume.training import append
from tests import forks


@pytest.mark.timeout(600)  # forty processes, one after the other
def test_training_killed_at_twenty_points_trains_on_the_rows_of_an_uninterrupted_one(tmp_path):
    log = tmp_path / "rounds.jsonl"
    words = ["-m", "benchmarks.resume", "--kills", "20", "--log", log]
    done = forks.run(words, timeout=580)
    assert done.returncode == 0, done.stdout + done.stderr
    outcomes = [json.loads(line) for line in log.read_text().splitlines()]
    assert sum(outcome["kills"] for outcome in outcomes) == 20
    assert sum(outcome["recoveries"] for outcome in outcomes) > 0
    assert {outcome["lane"] for outcome in outcomes} == {"estimator", "fit"}
    assert {outcome["wrong"] for outcome in outcomes} == {0}
    assert {outcome["case"] for outcome in outcomes} == set(CASES)


def test_logs_are_added_up_and_a_wrong_round_is_told_by_the_exit_status(tmp_path, capsys):
    rounds = [rounds_of(tmp_path / name, wrong=wrong) for name, wrong in (("a", 0), ("b", 1))]
    assert main(["--summary", rounds[0]]) == 0
    assert main(["--summary", *rounds]) == 1
    *_, last = capsys.readouterr().out.splitlines()
    assert last.split() == ["all", "2", "14", "4", "6", "2", "60", "1"]


def rounds_of(path, *, wrong):
    counts = {"kills": 7, "within": 2, "timed": 3, "recoveries": 1, "steps": 30, "wrong": wrong}
    names = {"tensorflow": "2.15.1", "round": 0, "case": "index", "lane": "fit"}
    path.write_text(json.dumps({**names, **counts}) + "\n")
    return str(path)


def pretend_to_train(life, *, forgets=False):
    """Trains on the numbers 0, 1, 2, …, and goes on after them, or forgets where it stood."""
    drawn = 0
    steps = []
    if os.path.exists(life.log):
        steps = [*rounds.lineage(life.log)]
        drawn = 0 if forgets else sum(map(len, steps))
    for step in range(len(steps), life.last_step):
        append(life.log, [step, [*range(drawn, drawn + life.batch_size)]])
        drawn += life.batch_size
        if step == life.dies_at:
            os.kill(os.getpid(), 9)


def test_rows_that_go_on_are_right_and_rows_that_start_over_are_wrong():
    right = rounds.kill_again_and_again("index", 12, seed=1, trained_by=pretend_to_train)
    assert (right.kills, right.wrong) == (12, 0)
    wrong = rounds.kill_again_and_again(
        "index", 5, seed=1, trained_by=lambda life: pretend_to_train(life, forgets=True)
    )
    assert wrong.kills == 5
    assert wrong.wrong > 0


def test_a_lineage_holds_the_last_rows_of_each_step(tmp_path):
    log = str(tmp_path / "log")
    for line in ([0, [1]], [1, [2]], [2, [3]], [1, [4]], [2, [5]]):
        append(log, line)
    assert [*rounds.lineage(log)] == [[1], [4], [5]]
