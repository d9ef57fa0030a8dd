"""The benchmark of loaders: a quick run as a program, and the parts that make its figures."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from benchmarks.cpu import tree_seconds
from benchmarks.loaders import measure as measuring
from benchmarks.loaders.__main__ import main
from benchmarks.loaders.cases import CASES, LOADERS, QUICK
from benchmarks.loaders.loader_process import Reading, first_rows, read_for
from benchmarks.loaders.results import CaseResult, Difference
from benchmarks.loaders.tables import render

_ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def quick_run(tmp_path_factory):
    path = tmp_path_factory.mktemp("loaders") / "results.json"
    command = [sys.executable, "-m", "benchmarks.loaders", "--quick", "--cases", "tfrecord,wav"]
    command += ["--loaders", "library", "--json", str(path)]
    done = subprocess.run(command, cwd=_ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(path.read_text()), done, path


def test_a_quick_run_reads_the_same_values_as_by_hand(quick_run):
    report, done, _ = quick_run
    assert [case["case"]["name"] for case in report["cases"]] == ["tfrecord", "wav"]
    for case in report["cases"]:
        assert case["differences"]["library"] == {
            "mean": 0.0,
            "greatest": 0.0,
            "same_as": None,
        }
        for runs in case["runs"].values():
            assert len(runs) == QUICK.pairs
            assert all(run["rows"] > 0 and run["seconds"] >= QUICK.seconds for run in runs)
    assert "wav: pair 2 of 2" in done.stderr


def test_saved_results_fill_the_page(quick_run, tmp_path, capsys):
    _, done, path = quick_run
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- loaders -->\n<!-- /loaders -->\nafter\n")
    assert main(["--report", str(path), "--write-docs", str(page)]) == 0
    assert capsys.readouterr().out == done.stdout
    assert done.stdout.strip() in page.read_text()
    assert page.read_text().endswith("<!-- /loaders -->\nafter\n")


def test_loaders_whose_package_is_missing_are_left_out_and_said_so(monkeypatch):
    monkeypatch.setattr(measuring.importlib.util, "find_spec", lambda name: None)
    assert measuring.missing_packages(CASES["wav"], "Grain") == ["grain", "soundfile"]
    assert measuring.missing_packages(CASES["wav"], "library") == []
    result = CaseResult(
        CASES["wav"], {"Grain": ["grain"]}, *_two_runs(library=(100, 1.0), by_hand=(50, 2.0))
    )
    text = render(_MACHINE, vars(QUICK), [result])
    assert "Left out, since a package is not installed: Grain (needs grain)." in text


_MACHINE = {
    "processor": "x",
    "cores": 2,
    "memory_gib": 1,
    "system": "y",
    "python": "3",
    "load_before": 0,
    "versions": {"tensorflow": "2"},
}


def _two_runs(*, library, by_hand):
    runs = {
        name: [Reading(rows, 1.0, cpu)] * 3
        for name, (rows, cpu) in {"library": library, "tf.data": by_hand}.items()
    }
    return runs, {name: Difference(0.0, 0.0) for name in runs}


def test_ratios_are_rates_over_rates_and_cpu_time_the_other_way_round():
    runs, differences = _two_runs(library=(100, 1.0), by_hand=(50, 2.0))
    result = CaseResult(CASES["wav"], {}, runs, differences)
    assert result.speed("library", "tf.data").median == pytest.approx(2)
    # 10 ms a row against 40 ms.
    assert result.cpu_speed("library", "tf.data").median == pytest.approx(4)
    assert result.cpu("tf.data") == [pytest.approx(40_000)] * 3
    assert CaseResult.from_json(json.loads(json.dumps(result.to_json()))) == result


def test_differences_are_those_of_numbers_and_of_texts():
    reference = {"x": np.array([0.0, 4.0]), "s": np.array([b"a", b"b"])}
    near = {"x": np.array([1.0, 2.0]), "s": np.array([b"a", b"b"])}
    assert measuring.difference(near, reference) == Difference(0.75, 2.0)
    other = {"x": np.array([0.0, 4.0]), "s": np.array([b"a", b"c"])}
    assert measuring.difference(other, reference).greatest == np.inf
    assert measuring.difference({"x": reference["x"]}, reference).greatest == np.inf
    fewer = {"x": np.array([0.0]), "s": np.array([b"a"])}
    assert measuring.difference(fewer, reference).mean == np.inf


def test_rows_are_counted_by_their_labels():
    batches = iter([({"x": np.zeros(3)}, np.zeros(3))] * 1000)
    assert read_for(batches, 0.0).rows == 3
    rows = first_rows(iter([({"x": np.arange(3)}, ["a", "b", "c"])] * 2), 4)
    assert rows["x"].tolist() == [0, 1, 2, 0]


def test_cpu_time_counts_the_processes_below():
    busy = "import time\nwhile time.process_time() < 0.5: pass\nprint(flush=True)\ninput()"
    with subprocess.Popen(
        [sys.executable, "-c", busy], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        before = time.process_time()
        assert child.stdout is not None
        child.stdout.readline()
        used = tree_seconds(os.getpid())
        child.communicate(b"\n")
    assert used >= before + 0.45


def test_every_loader_of_a_case_is_known_and_has_its_module():
    for case in CASES.values():
        assert set(case.loaders) <= set(LOADERS)
        assert case.written_by_hand
    for module, _ in LOADERS.values():
        assert (_ROOT / "benchmarks" / "loaders" / f"{module}.py").exists()


def test_an_unknown_case_is_refused():
    with pytest.raises(SystemExit, match=r"--cases is unknown.*'mp3'.*wav"):
        main(["--cases", "mp3"])


def test_loaders_end_with_a_killed_benchmark():
    program = (
        "import subprocess, sys, os, signal\n"
        "from benchmarks.standing import Guard\n"
        "with Guard() as guard:\n"
        "    child = subprocess.Popen(['sleep', '600'], start_new_session=True)\n"
        "    guard.watch(child.pid)\n"
        "    os.killpg(child.pid, signal.SIGSTOP)\n"
        "    print(child.pid, flush=True)\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    killed = subprocess.run(
        [sys.executable, "-c", program], cwd=_ROOT, capture_output=True, text=True, check=False
    )
    child = int(killed.stdout)
    for _ in range(600):
        if not _runs(child):
            return
        time.sleep(0.05)
    pytest.fail(f"process {child} still runs")


def _runs(pid):
    """Whether the process exists; one that has ended and is not yet collected does not count."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
