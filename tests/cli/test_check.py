"""`estimator-io check`: exit codes, text and JSON, for one input_fn and for a whole program."""

from __future__ import annotations

import json
import os
import sys
import textwrap

import pytest

from estimator_io.cli.main import main
from tests.compat.children import python

INPUTS = """
import os, threading
import numpy as np
import tensorflow as tf
import estimator_io

def sound(mode, params):
    random = np.random.RandomState(0)
    rows = tf.data.Dataset.from_tensor_slices((random.rand(40, 2), random.randint(0, 2, 40)))
    if mode == "train":
        rows = rows.shuffle(40).repeat()
    return rows.batch(params["batch_size"])

def ordered():
    print("a line of the program")
    return tf.data.Dataset.range(40).batch(4)

def raises():
    raise RuntimeError("no such table")

def waits():
    os.system("echo a line of a child")
    threading.Event().wait()

fn = estimator_io.input_fn({"x": np.arange(40.0)}, batch_size=4)
spec = tf.estimator.EvalSpec(ordered, steps=3, name="test")
"""
PROGRAM = """
import sys
import tensorflow as tf
SIZE = int(sys.argv[1])
def train():
    return tf.data.Dataset.range(SIZE).shuffle(40).repeat().batch(4)
def evaluation():
    return tf.data.Dataset.range(40).repeat().batch(4)
estimator = tf.estimator.Estimator(lambda features: None, "model_dir")
print("starting")
tf.estimator.train_and_evaluate(
    estimator,
    tf.estimator.TrainSpec(train, max_steps=100),
    tf.estimator.EvalSpec(evaluation, steps=None))
"""
ENOUGH = ["--batches", "3", "--seconds", "150"]


@pytest.fixture
def check(tmp_path, monkeypatch, capsys):
    """Returns a function that runs the command in a folder with the programs above."""
    (tmp_path / "check_inputs.py").write_text(INPUTS)
    (tmp_path / "program.py").write_text(textwrap.dedent(PROGRAM))
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])

    def run(*arguments):
        code = main(["check", *ENOUGH, *arguments])
        done = capsys.readouterr()
        return code, done.out, done.err

    yield run
    sys.modules.pop("check_inputs", None)


def test_a_sound_input_fn_is_looked_at_in_both_modes_and_exits_with_0(check):
    code, out, _ = check("check_inputs:sound", "--params", '{"batch_size": 5}', "--json")
    reports = json.loads(out)["input_fns"]
    assert code == 0, reports
    assert [report["name"] for report in reports] == ["train", "eval"]
    assert [report["length"] for report in reports] == ["endless", "8 batches"]
    assert reports[0]["title"] == "sound (check_inputs.py:7)"
    assert reports[0]["columns"][0]["shapes"] == [[5, 2]]


def test_a_finding_exits_with_1(check):
    code, out, err = check("check_inputs.py:ordered")
    assert code == 1
    assert "doubt (restart)" in out
    assert "a line of the program" in err
    assert "a line of the program" not in out


def test_a_finding_that_is_ignored_exits_with_0(check):
    assert check("check_inputs:ordered", "--ignore", "restart,slow_map")[0] == 0


def test_a_spec_is_looked_at_in_its_mode(check):
    code, out, _ = check("check_inputs:spec")
    assert code == 0
    assert out.startswith("eval_test: ordered (check_inputs.py:14)\n")


def test_an_input_fn_of_ours_is_looked_at(check):
    code, out, _ = check("check_inputs:fn")
    assert code == 0
    assert out.startswith("train: InputFn\n  InputFn, endless; drawn: 3\n")
    assert "\n\neval: InputFn\n  InputFn, 10 batches; drawn: 3\n" in out


def test_an_input_fn_that_raises_exits_with_2_and_its_line(check):
    code, out, _ = check("check_inputs:raises")
    assert code == 2
    assert "failed: RuntimeError: no such table (check_inputs.py:19)" in out


def test_a_program_shows_all_its_input_fns_and_trains_nothing(check):
    code, out, err = check("--script", "program.py", "--", "40")
    assert code == 1
    assert "train: train (program.py:5)\n  Dataset, endless; drawn: 3\n" in out
    assert "eval: evaluation (program.py:7)\n" in out
    assert "wrong (endless evaluation)" in out
    assert "starting" in err
    assert not os.path.exists("model_dir")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "Expected: one MODULE:NAME, or --script SCRIPT"),
        (["check_inputs:fn", "check_inputs:spec"], "Received: check_inputs:fn check_inputs:spec."),
        (["check_inputs:nothing"], "'check_inputs' has no 'nothing'"),
        (["check_inputs:fn", "--batches", "0"], "--batches must be above 0"),
        (["check_inputs:fn", "--seconds", "-1"], "--seconds must be above 0"),
        (["check_inputs:fn", "--params", "{"], "--params is no JSON"),
        (["check_inputs:fn", "--params", "3"], "--params must be a JSON object"),
        (["check_inputs:fn", "--ignore", "restarts"], "there is no case 'restarts'"),
        (["--script", "absent.py"], "There is no such script"),
        (
            ["--script", "program.py"],
            "program.py raised IndexError: list index out of range at program.py:4, before",
        ),
        (["--script", "program.py", "--params", "{}"], "--params is for MODULE:NAME"),
    ],
)
def test_what_cannot_be_done_is_one_line_and_exits_with_2(check, arguments, message):
    code, _, err = check(*arguments)
    assert code == 2
    (line,) = [line for line in err.splitlines() if line.startswith("estimator-io check: ")]
    assert message in line


def test_a_program_that_never_hands_an_input_fn_over_is_ended_with_its_line(tmp_path):
    (tmp_path / "idle.py").write_text("import time\nwhile True:\n    time.sleep(0.1)\n")
    code = f"import os, sys; os.chdir({str(tmp_path)!r})\nfrom estimator_io.cli.main import main\n"
    code += "sys.exit(main(['check', '--script', 'idle.py', '--seconds', '0.1']))"
    done = python("-c", code)
    assert done.returncode == 2, done.stderr
    assert "idle.py has run for 1 s without handing an input_fn over" in done.stderr
    assert "it stands at idle.py:" in done.stderr


def test_an_input_fn_that_never_returns_ends_the_process_with_2(tmp_path):
    (tmp_path / "check_inputs.py").write_text(INPUTS)
    code = f"import os, sys; os.chdir({str(tmp_path)!r})\nfrom estimator_io.cli.main import main\n"
    code += "sys.exit(main(['check', 'check_inputs:waits', '--seconds', '1']))"
    done = python("-c", code)
    assert done.returncode == 2, done.stderr
    assert "has not returned after 1 s; it stands at check_inputs.py:23" in done.stdout
    assert done.stdout.startswith("train: waits")  # what a child process printed is elsewhere
    assert "a line of a child" in done.stderr
