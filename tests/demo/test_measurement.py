"""Figures, against ones worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from estimator_io.demo.measurement import Measurement, Steps
from estimator_io.demo.step_clock import StepClock
from estimator_io.demo.table import format_table


def measurement(**changes):
    # Four steps of 1 s, the second of which waits for 0.25 s; 0.1 s between steps, but 7 s for an
    # evaluation before the last.
    begins = np.array([0.0, 1.1, 2.2, 10.2, 11.3])
    steps = Steps(
        begins=begins,
        arrivals=begins + [0, 0.25, 0, 0, 0],
        ends=begins + 1,
        rows=np.array([64, 64, 64, 32, 64]),
    )
    values = {
        "scenario": "own",
        "variant": "as written",
        "reader": "TensorFlow",
        "wall_seconds": 20.0,
        "steps": steps,
        "timed": (1, 5),
        "prepared": 400,
        "evaluated": 20,
        "accuracy": 0.956,
    }
    return Measurement(**{**values, **changes})


def test_the_waiting_share_is_of_the_timed_steps_alone():
    assert measurement().waiting_share == pytest.approx(0.25 / 4)
    assert measurement(timed=(2, 5)).waiting_share == 0


def test_steps_and_rows_per_second_leave_an_evaluation_out():
    # 4 s of steps, 2 ordinary pauses of 0.1 s, and the evaluation's counted as at most 4 of them.
    assert measurement().steps_per_second == pytest.approx(4 / (4 + 0.1 + 0.4 + 0.1))
    assert measurement().rows_per_second == pytest.approx(224 / 4.6)


def test_needed_are_the_rows_of_all_steps_and_of_every_evaluation():
    assert measurement().needed == 288 + 20


def test_a_step_cannot_get_its_batch_before_it_began_nor_after_it_ended():
    clock = StepClock()
    clock.begin()
    clock.end(arrival=0.0, rows=3)
    clock.begin()
    clock.end(arrival=1e12, rows=2)
    assert clock.arrivals[0] == clock.begins[0]
    assert clock.arrivals[1] == clock.ends[1]
    assert clock.rows == [3, 2]


def test_watchers_hear_of_each_step_by_number():
    heard = []

    class Watcher:
        def before_step(self, step):
            heard.append(("before", step))

        def after_step(self, step):
            heard.append(("after", step))

    clock = StepClock([Watcher()])
    for _ in range(2):
        clock.begin()
        clock.end(arrival=0.0, rows=1)
    assert heard == [("before", 0), ("after", 0), ("before", 1), ("after", 1)]


def test_the_table_has_a_block_a_scenario_and_says_what_is_unknown():
    rows = [
        measurement(scenario="fixed", prepared=None, accuracy=None),
        measurement(variant="audio_input_fn", prepared=12345),
    ]
    lines = format_table(rows, {"fixed": "A fixed step", "own": "An own step"}).splitlines()
    assert [lines[0], lines[5]] == ["A fixed step", "An own step"]
    fixed, own = lines[3].split(), lines[8].split()
    assert fixed == ["as", "written", "TensorFlow", "20.0", "0.9", "49", "6%", "?", "308", "-"]
    assert own[:3] == ["audio_input_fn", "TensorFlow", "20.0"]
    assert own[-3:] == ["12,345", "308", "96%"]
    assert len({len(line) for line in lines[1:4]}) == 1
