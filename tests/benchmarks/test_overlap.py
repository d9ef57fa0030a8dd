"""The overlap benchmark as a program, in its quick form."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks.overlap.__main__ import main
from benchmarks.overlap.cases import QUICK
from tests import forks

pytest.importorskip("soundfile")

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("overlap") / "results.json"
    done = forks.run(["-m", "benchmarks.overlap", "--quick", "--json", path])
    assert done.returncode == 0, done.stderr
    return path, done


def test_a_quick_run_prints_both_tables_and_its_progress(quick_run):
    _, done = quick_run
    assert done.stdout.startswith("### TensorFlow ")
    assert done.stdout.count("| tf-2 |") == done.stdout.count("| latency-2 |") == 2
    assert "tf-2 (1 of 2): pair 2 of 2" in done.stderr


def test_a_quick_run_keeps_every_raw_number(quick_run):
    path, _ = quick_run
    report = json.loads(path.read_text())
    assert report["machine"]["versions"]["tensorflow"]
    tf_case, latency_case = report["cases"]
    names = {"as_written", "with_prefetch", "hand_tuned", "library", "step"}
    assert set(latency_case["runs"]) == names
    assert set(tf_case["runs"]) == names | {"alone"}
    for run in tf_case["runs"]["library"] + latency_case["runs"]["library"]:
        ends = run["ends"]
        assert len(ends) == QUICK.epoch_steps + QUICK.steps
        assert ends == sorted(ends)
        # The mean over whole epochs behind the first.
        measured = (ends[-1] - ends[QUICK.epoch_steps - 1]) / QUICK.steps
        assert run["steady"] == pytest.approx(measured, abs=1e-4)


def test_a_step_lasts_at_least_its_fixed_length(quick_run):
    path, _ = quick_run
    for case in json.loads(path.read_text())["cases"]:
        for run in case["runs"]["step"]:
            assert run["steady"] >= 0.95 * QUICK.step_seconds


def test_saved_results_fill_the_page(quick_run, tmp_path, capsys):
    path, done = quick_run
    page = tmp_path / "page.md"
    page.write_text("# Figures\n<!-- overlap -->\n<!-- /overlap -->\nend\n")
    assert main(["--report", str(path), str(path), "--write-docs", str(page)]) == 0
    assert capsys.readouterr().out.count(done.stdout.splitlines()[0]) == 2
    text = page.read_text()
    assert text.startswith("# Figures\n<!-- overlap -->\n\n### TensorFlow ")
    assert text.endswith("<!-- /overlap -->\nend\n")


def test_an_unknown_case_is_named(capsys):
    with pytest.raises(SystemExit, match="--cases names no case: nonsense"):
        main(["--cases", "tf-2,nonsense"])
