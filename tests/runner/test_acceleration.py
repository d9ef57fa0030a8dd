"""`estimator-io run --accelerate`: every class of Estimator; what ends a program with a line."""

from __future__ import annotations

import importlib
import re
import sys
import textwrap
import threading
from pathlib import Path
from typing import Any

import pytest
import tensorflow as tf

from estimator_io import compat
from estimator_io.cli.main import main
from estimator_io.runner import acceleration, watch
from estimator_io.runner.acceleration import Acceleration

v1 = tf.compat.v1
Dataset: Any = tf.data.Dataset
REPLACED = ("_call_input_fn", "evaluate", "_get_features_and_labels_from_input_fn")


def model_fn(features: Any, mode: str) -> Any:
    weight = v1.get_variable("w", [], initializer=v1.zeros_initializer())
    loss = tf.reduce_mean(tf.square(tf.cast(features, tf.float32) - weight))
    step = v1.train.get_global_step()
    train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
    return v1.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def input_fn() -> Any:
    return tf.data.Dataset.range(40).map(lambda x: x * x).batch(4)


@pytest.mark.parametrize("name", ["compat.v1.estimator", "estimator"])
def test_estimators_of_both_behaviours_are_accelerated(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    compat.install()
    estimators = "tensorflow_estimator.python.estimator"
    base = importlib.import_module(f"{estimators}.estimator").Estimator
    tpu = importlib.import_module(f"{estimators}.tpu.tpu_estimator").TPUEstimator
    owned = [(owner, at) for owner in (base, tpu) for at in REPLACED if at in vars(owner)]
    before = {(owner, at): vars(owner)[at] for owner, at in owned}
    for (owner, at), function in before.items():
        monkeypatch.setattr(owner, at, function)  # puts it back behind the test
    accelerating = Acceleration()
    accelerating.install()
    assert all(vars(owner)[at] is not function for (owner, at), function in before.items())
    module: Any = tf
    for part in name.split("."):
        module = getattr(module, part)
    module.Estimator(model_fn, str(tmp_path)).train(input_fn, steps=2)
    assert "+ map(lambda) → num_parallel_calls=AUTOTUNE" in accelerating.report()


def test_a_first_step_that_does_not_end_is_told_with_the_line_it_stands_at(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    compat.install()
    base = importlib.import_module("tensorflow_estimator.python.estimator.estimator").Estimator
    for name in REPLACED:
        monkeypatch.setattr(base, name, vars(base)[name])
    told = threading.Event()
    say = acceleration.say
    monkeypatch.setattr(acceleration, "say", lambda text: (say(text), told.set()))
    monkeypatch.setattr(acceleration, "FIRST_STEP_SECONDS", 0.1)

    def wait(x: Any) -> Any:
        assert told.wait(60)
        return x

    def hangs() -> Any:
        return Dataset.range(9).map(lambda x: tf.numpy_function(wait, [x], tf.int64))

    Acceleration().install()
    tf.estimator.Estimator(model_fn, str(tmp_path)).train(hangs, steps=2)
    text = capsys.readouterr().err
    assert re.search(r"train: .*hangs .*the first step has not ended after 0.1 s", text)
    assert text.count("has not ended") == 1


PROGRAMS = {
    "impossible": """
        from absl import app, flags
        values = flags.FlagValues()
        flags.DEFINE_integer("rows_of_test", 4, "", lower_bound=1, flag_values=values)
        values(["program", "--rows_of_test=0"])
        """,
    "printed": """
        from absl import app, flags

        flags.DEFINE_integer("rows_of_test", 4, "", lower_bound=1)
        try:
            app.run(print, ["program", "--rows_of_test=0"])
        finally:
            del flags.FLAGS.rows_of_test
        """,
    "option": "import estimator_io\nestimator_io.accelerate(dict, batch_size=0)\n",
}


@pytest.mark.parametrize(
    ("name", "told"),
    [
        ("impossible", r"impossible.py:5: flag --rows_of_test=0: .*Give another value"),
        ("printed", "FATAL Flags parsing error: flag --rows_of_test=0"),
        ("option", "option.py:2: batch_size must be"),
    ],
)
def test_flags_and_options_that_cannot_be_end_with_a_line_and_2(
    name: str, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [*sys.argv])
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])
    (tmp_path / f"{name}.py").write_text(textwrap.dedent(PROGRAMS[name]))
    assert main(["run", f"{name}.py"]) == 2
    text = capsys.readouterr().err
    assert re.search(told, text), text
    assert "Traceback" not in text


def test_what_never_returns_ends_the_process_with_its_line(
    monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    ended: list[int] = []
    gone = threading.Event()
    monkeypatch.setattr(watch.os, "_exit", lambda code: (ended.append(code), gone.set()))
    with watch.Watch(0.01, lambda place: f"it stands at {place}"):
        assert gone.wait(60)
    assert ended == [2]
    assert re.search(rf"it stands at .*{Path(__file__).name}:\d+", capsys.readouterr().err)
