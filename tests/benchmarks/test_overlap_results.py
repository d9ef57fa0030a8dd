"""The ratios of the overlap benchmark, on runs whose lengths are made up."""

from __future__ import annotations

import json

import pytest

from benchmarks.overlap.cases import CASES, Settings, recordings
from benchmarks.overlap.results import CaseResult, Run
from benchmarks.overlap.tables import render
from benchmarks.report import machine


def _result(case: str, **steady: list[float]) -> CaseResult:
    runs = {
        name: [Run(first=1.0, whole=2 * s, steady=s, steady_cpu=s, ends=(1.0,)) for s in values]
        for name, values in steady.items()
    }
    return CaseResult(CASES[case], (0.001, 0.001), 1.0, 2, runs)


_LIKE_LATENCY = {
    "as_written": [4.0, 6.0, 4.0],
    "with_prefetch": [4.0, 6.0, 4.0],
    "hand_tuned": [2.0, 3.0, 2.0],
    "library": [1.25, 2.0, 1.0],
    "step": [1.0, 1.5, 1.0],
}


def test_the_limit_of_a_waiting_preparation_is_the_step():
    result = _result("latency-2", **_LIKE_LATENCY)
    assert result.steady("limit") == [1.0, 1.5, 1.0]
    assert result.speed("library", "limit").median == pytest.approx(0.8)


def test_the_limit_of_a_computing_preparation_is_the_slower_of_step_and_preparation():
    result = _result("tf-2", **_LIKE_LATENCY, alone=[0.5, 2.0, 1.0])
    assert result.steady("limit") == [1.0, 2.0, 1.0]


def test_the_share_is_the_gain_over_the_greatest_possible_gain():
    result = _result("latency-2", **_LIKE_LATENCY)
    # Gains of the library 3.2, 3 and 4, of the limit 4 in every pair.
    assert result.speed("library", "as_written").median == pytest.approx(3.2)
    assert result.speed("limit", "as_written").median == pytest.approx(4.0)
    assert result.share_of_possible == pytest.approx(0.8)


def test_results_survive_json():
    result = _result("latency-2", **_LIKE_LATENCY)
    assert CaseResult.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_every_case_has_a_row_in_both_tables():
    result = _result("latency-2", **_LIKE_LATENCY)
    text = render(machine(), {**vars(Settings())}, [result])
    rows = [line for line in text.splitlines() if line.startswith("| latency-2 |")]
    assert len(rows) == 2
    assert "0.80 (0.75 to 1.00)" in rows[0]


@pytest.mark.parametrize(("steps", "whole"), [(1, 10), (10, 10), (11, 20)])
def test_steps_are_raised_to_whole_epochs(steps, whole):
    assert Settings().whole_epochs(steps) == whole


def test_recordings_come_from_every_language_with_its_label():
    files, labels = recordings(192)
    assert len(set(files)) == len(labels) == 192
    assert set(labels) == set(range(5))


def test_too_few_recordings_are_an_error():
    with pytest.raises(FileNotFoundError, match="Expected: at least 100000"):
        recordings(100_000)
