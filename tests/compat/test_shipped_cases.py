"""The test cases in tensorflow-estimator's own wheel end here as they do on TensorFlow 2.15.1."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.compat import shipped_cases
from tests.compat.children import forked

STORED = json.loads(shipped_cases.STORED.read_text())


def test_the_stored_results_come_from_2_15_and_hold_both_apis() -> None:
    assert STORED["tensorflow"] == "2.15.1"
    assert {name.partition(".")[0] for name in STORED["results"]} == {"v1", "v2"}
    assert set(STORED["results"].values()) <= {"passed", "failed", "skipped"}


@pytest.mark.parametrize("version", ["1", "2"])
def test_the_cases_of_the_wheel_end_as_on_tensorflow_2_15(version: str) -> None:
    result = forked("-m", "tests.compat.shipped_cases", version, timeout=280)
    assert result.returncode == 0, result.stderr[-4000:]
    found: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    classes = {name.rpartition(".")[0] for name in STORED["results"]}
    expected = {name for name in classes if name.startswith(f"v{version}.")}
    assert {name.rpartition(".")[0] for name in found["ends"]} == expected
    different = shipped_cases.differences(found["ends"])
    assert different == {}, "\n".join(found["problems"].get(name, "") for name in different)


def test_a_case_that_ends_otherwise_is_told() -> None:
    name = next(name for name, end in STORED["results"].items() if end == "passed")
    assert shipped_cases.differences({name: "passed"}) == {}
    assert shipped_cases.differences({name: "failed"}) == {name: "stored passed, found failed"}
