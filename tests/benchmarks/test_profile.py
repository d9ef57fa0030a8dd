"""The table of profile cases: what counts as right, and that there are enough cases."""

from benchmarks.profile import gain, judged, table
from benchmarks.profile_cases.cases import CASES, CPU, LATENCY
from benchmarks.profile_cases.held_out import HELD_OUT

RESULT = {
    "case": "a case",
    "expected": ["input-bound", ["map 1", "map 2"]],
    "verdict": "input-bound",
    "stage": "map 2",
    "suggestion": ["parallel calls", "map(…)"],
    "predicted": 5.0,
    "measured": 4.0,
    "seconds": 7.5,
    "asked": 8.0,
}


def test_a_quarter_off_is_close_and_more_is_not():
    assert judged(RESULT) == (True, True, True)
    assert judged({**RESULT, "measured": 3.9}) == (True, True, False)
    assert judged({**RESULT, "measured": 6.7}) == (True, True, False)


def test_the_gain_is_the_median_of_rounds_in_which_batches_came():
    assert gain([[0.8, 0.1], [0.6, 0.1], [0.4, 0.1]]) == 0.6 / 0.1
    assert gain([[float("inf"), 0.1], [0.6, 0.1], [0.4, float("inf")]]) == 0.6 / 0.1
    assert gain([[float("inf"), 0.1]]) is None
    assert gain(None) is None


def test_a_wrong_stage_or_verdict_is_counted():
    assert judged({**RESULT, "stage": "batch", "verdict": "balanced"})[:2] == (False, False)


def test_what_could_not_be_tried_is_neither_right_nor_wrong():
    result = {**RESULT, "measured": None}
    assert judged(result)[2] is None
    text = table([RESULT, {**result, "seconds": 9.25}])
    assert "The longest profile took 9.2 s, of 8 s asked for" in text
    assert "Verdict right in 2 of 2, stage in 2 of 2" in text
    assert "in 1 of 1 that could be tried" in text
    assert "| a case | input-bound | map 2 | parallel calls | 5.00 | 4.00 | yes |" in text


def test_there_are_thirty_cases_of_both_kinds():
    assert len(CASES) >= 30
    assert len({case.name for case in CASES}) == len(CASES)
    assert not {case.name for case in CASES} & {case.name for case in HELD_OUT}
    assert LATENCY
    assert CPU
