"""The examples on recordings run as they are, and learn."""

from __future__ import annotations

import re
import runpy
import sys

import pytest

import estimator_io

from ..conftest import ROOT, SPOKEN


def run_example(name, steps, monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", [name, f"--data={SPOKEN}", f"--steps={steps}"])
    monkeypatch.syspath_prepend(ROOT / "examples")
    runpy.run_path(str(ROOT / "examples" / name), run_name="__main__")
    found = re.search(r"accuracy ([\d.]+) after (\d+) steps", capsys.readouterr().out)
    assert found
    return float(found[1]), int(found[2])


@pytest.mark.parametrize(
    "name", ["spoken_slow.py", "spoken_fast.py", "spoken_keras.py", "python_reader.py"]
)
def test_each_example_beats_guessing_after_a_few_steps(name, monkeypatch, capsys):
    if name in ("spoken_slow.py", "python_reader.py"):
        pytest.importorskip("soundfile")
    estimator_io.compat.install()  # as `estimator-io run` does for the script that knows of nothing
    accuracy, steps = run_example(name, 30, monkeypatch, capsys)
    assert steps == 30
    assert accuracy > 0.3  # five languages, equally many recordings of each


def test_the_fast_example_is_the_slow_one_with_another_input_fn():
    slow, fast = (
        (ROOT / "examples" / name).read_text() for name in ("spoken_slow.py", "spoken_fast.py")
    )
    model_fn = re.compile(r"^def model_fn.*?(?=^def )", re.DOTALL | re.MULTILINE)
    assert model_fn.search(slow)[0] == model_fn.search(fast)[0]
    assert "estimator_io." not in slow.split('"""', 2)[2]
