"""`estimator-io profile`: what it is pointed at, what it prints, and exit code 2."""

import io
import json

import pytest

from estimator_io.cli.main import main
from estimator_io.errors import OptionError

MODULE = """
import time
import tensorflow as tf
def input_fn():
    return tf.data.Dataset.range(64).batch(4)
def of_files(files):
    return tf.data.Dataset.range(64)
dataset = tf.data.Dataset.range(64).batch(8)
def empty():
    return tf.data.Dataset.range(0).batch(4)
def short():
    return tf.data.Dataset.range(5).batch(8, drop_remainder=True)
def of_map():
    def wait(x):
        y = tf.numpy_function(lambda v: (time.sleep(0.02), v)[1], [x], tf.int64)
        return y
    return tf.data.Dataset.range(64).map(wait).batch(4)
def failing():
    raise KeyError("wobble")
def missing():
    return tf.data.Dataset.from_tensor_slices(["/nowhere/a"]).map(tf.io.read_file)
"""
SCRIPT = """
import tensorflow as tf
def input_fn():
    return tf.data.Dataset.range(64).map(lambda x: ({"x": x}, x)).batch(4)
def model_fn(features, labels, mode):
    raise AssertionError("nothing is trained")
tf.estimator.Estimator(model_fn).train(input_fn, steps=10)
"""


@pytest.fixture
def write(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)

    def put(name, text):
        (tmp_path / name).write_text(text)
        return name

    return put


def test_a_function_of_a_file_is_profiled_as_json_and_as_a_page(write, tmp_path, capsys):
    name = write("inputs_a.py", MODULE)
    code = main(
        ["profile", f"{name}:input_fn", "--seconds", "2", "--step-seconds", "9", "--json"]
        + ["--report", "page.html"]
    )
    assert code == 0
    assert json.loads(capsys.readouterr().out)["verdict"]["kind"] == "step-bound"
    assert (tmp_path / "page.html").read_text().startswith("<!DOCTYPE html>")


def test_a_dataset_of_a_module_is_profiled_as_text(write, capsys):
    write("inputs_b.py", MODULE)
    assert main(["profile", "inputs_b:dataset", "--seconds", "2"]) == 0
    out = capsys.readouterr().out
    assert "no step given" in out
    assert "\x1b" not in out  # no terminal, no colours


def test_the_input_functions_of_a_script_are_profiled(write, capsys):
    name = write("train_it.py", SCRIPT)
    assert main(["profile", "--script", name, "--seconds", "2", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["batch_rows"] == 4


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["no_such_module_x:fn"], "no module 'no_such_module_x'"),
        (["inputs_c:input_fnn"], "has no 'input_fnn'"),
        (["inputs_c:of_files"], "needs arguments"),
        (["inputs_c:empty"], "No element leaves"),
        (["inputs_c:short"], "No element leaves the step 'batch'"),
        (["inputs_c:failing"], "inputs_c.py:19: KeyError: 'wobble'"),
        (["inputs_c:missing", "--seconds", "1"], "inputs_c.py:21: NotFoundError: /nowhere/a"),
        (["inputs_c:input_fn", "--seconds", "0"], "seconds"),
        (["inputs_c:input_fn", "--report", "page.pdf"], "Expected: one of .html"),
        (["inputs_c:input_fn", "--report", "no/folder/page.html"], "cannot be written"),
        (["inputs_c:input_fn", "--report", "/proc/page.html"], "cannot be written"),
        ([], "either MODULE:NAME"),
        (["inputs_c:input_fn", "--script", "x.py"], "either MODULE:NAME"),
    ],
)
def test_what_cannot_be_used_is_exit_code_2_with_the_reason(write, capsys, arguments, message):
    write("inputs_c.py", MODULE)
    assert main(["profile", *arguments]) == 2
    err = capsys.readouterr().err
    assert err.startswith("estimator-io profile: ")
    assert message in err


def test_a_terminal_without_unicode_gets_what_it_has_and_the_report_is_whole(
    write, tmp_path, monkeypatch
):
    name = write("inputs_d.py", MODULE)
    ascii_out = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr("sys.stdout", ascii_out)
    arguments = ["--seconds", "1", "--step-seconds", "1e-9", "--report", "page.txt"]
    assert main(["profile", f"{name}:of_map", *arguments]) == 0
    ascii_out.flush()
    printed = ascii_out.buffer.getvalue().decode("ascii")
    assert " ---" in printed
    assert "map(..., num_parallel_calls=" in printed
    assert "map(…, num_parallel_calls=" in (tmp_path / "page.txt").read_text("utf-8")


def test_a_report_that_cannot_be_saved_is_printed_all_the_same(write, capsys, monkeypatch):
    name = write("inputs_e.py", MODULE)

    def full(*_):
        raise OptionError("the disk is full")

    monkeypatch.setattr("estimator_io.profiling.saving.save", full)
    arguments = ["--seconds", "1", "--report", "page.txt"]
    assert main(["profile", f"{name}:input_fn", *arguments]) == 2
    captured = capsys.readouterr()
    assert "no step given" in captured.out
    assert "the disk is full" in captured.err
