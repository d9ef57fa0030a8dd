"""The example of both loops prints the same numbers twice."""

from __future__ import annotations

import os
import re
import runpy
import sys

import pytest
import tensorflow as tf

from ..conftest import ROOT


def test_both_loops_print_the_same_loss_at_the_same_step(tmp_path, monkeypatch, capsys):
    arguments = [f"--data={ROOT / 'examples/data/adult'}", f"--model_dir={tmp_path}", "--steps=12"]
    monkeypatch.setattr(sys, "argv", ["census_loops.py", *arguments])
    runpy.run_path(str(ROOT / "examples" / "census_loops.py"), run_name="__main__")
    printed = re.findall(
        r"(\w+): loss ([\d.]+), accuracy ([\d.]+) at step (\d+), exported (\w+)",
        capsys.readouterr().out,
    )
    (first, *theirs), (second, *ours) = printed
    assert (first, second) == ("Estimator", "Keras")
    assert float(ours[0]) == pytest.approx(float(theirs[0]), abs=2e-5)
    assert ours[1:] == theirs[1:]
    assert ours[2] == "12"
    exports = {
        name: sorted(os.listdir(tmp_path / name / "export" / "best"))
        for name in ("estimator", "keras")
    }
    assert len(exports["keras"]) == len(exports["estimator"])
    version = next(name for name in exports["keras"] if name.isdigit())
    folder = str(tmp_path / "keras" / "export" / "best" / version)
    served = tf.saved_model.load(folder).signatures["serving_default"]
    assert set(served.structured_input_signature[1]) == {"age", "education", "hours"}
    assert list(served.structured_outputs) == ["logits"]
