"""`python -m migration.compare`, as a CI job runs it."""

import json
import os
import subprocess
import sys

import pytest

from migration.compare.command import main
from tests.conftest import ROOT

HERE = "tests.migration.compare.test_command"


def same():
    from tests.migration.compare.conftest import Recipe, estimator, input_fn, twin

    return estimator(Recipe(), None), twin(Recipe()), input_fn


def other():
    from tests.migration.compare.conftest import Recipe, estimator, input_fn, twin

    return {
        "estimator_or_checkpoint": estimator(Recipe(), None),
        "model": twin(Recipe(rate=0.2)),
        "input_fn": input_fn,
        "steps": 2,
    }


def fails():
    raise RuntimeError("from the function")


def nothing():
    return None


def misnamed():
    return {"estimator": None, "model": None}


def test_an_equal_pair_ends_with_0(tmp_path, capsys):
    file = tmp_path / "found.json"
    assert main([f"{HERE}:same", "--steps=3", f"--json={file}"]) == 0
    assert capsys.readouterr().out.startswith("equal within")
    assert json.loads(file.read_text())["steps"] == 3


def test_a_difference_ends_with_1(capsys):
    assert main([f"{HERE}:other"]) == 1
    assert "Likely because:\n  learning rate" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("target", "message"),
    [
        (f"{HERE}:fails", "from the function"),
        (f"{HERE}:nothing", "returned NoneType"),
        (f"{HERE}:no_such", "no function 'no_such'"),
        ("no.such.module:x", "There is no module 'no.such.module'"),
        (f"{HERE}:misnamed", "compare: ['estimator']; missing: ['estimator_or_checkpoint', "),
        ("nothing", "MODULE:NAME"),
    ],
)
def test_what_cannot_run_ends_with_2(target, message, capsys):
    assert main([target]) == 2
    assert message in capsys.readouterr().err


def test_an_output_without_a_folder_is_refused_before_the_comparison(tmp_path, capsys):
    assert main([f"{HERE}:fails", f"--picture={tmp_path / 'no' / 'losses.png'}"]) == 2
    assert "There is no folder" in capsys.readouterr().err


def test_the_module_is_a_command():
    done = subprocess.run(
        [sys.executable, "-m", "migration.compare", "--help"],
        capture_output=True,
        text=True,
        timeout=280,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0
    assert "0 equal, 1 different, 2 could not run" in done.stdout
