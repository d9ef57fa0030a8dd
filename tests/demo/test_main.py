"""The whole demo, on a few short recordings and few steps."""

from __future__ import annotations

import json
import sys
import tempfile
import threading

import pytest

from estimator_io.demo.main import run_demo
from estimator_io.demo.settings import Settings

STEPS = 6
BATCH = 16
VARIANTS = ["as written", "as written", "audio_input_fn", "same, model.fit"]


@pytest.fixture
def temporary(tmp_path, monkeypatch):
    """Returns the folder that temporary folders are made in."""
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def settings(tones, tmp_path):
    return Settings(
        data=tones,
        output=tmp_path / "out",
        steps=STEPS,
        json=tmp_path / "figures" / "demo.json",
        batch_size=BATCH,
    )


def test_the_demo_measures_every_variant_and_leaves_nothing_behind(tones, tmp_path, temporary):
    said = []
    threads = set(threading.enumerate())
    figures = run_demo(settings(tones, tmp_path), said.append)

    assert [run["variant"] for run in figures["runs"]] == 2 * VARIANTS
    assert [run["scenario"] for run in figures["runs"]] == ["fixed"] * 4 + ["own"] * 4
    for run in figures["runs"]:
        _check(run, figures)
    assert json.loads((tmp_path / "figures" / "demo.json").read_text()) == figures

    text = "\n".join(said)
    assert "A step of fixed length that uses no CPU" in text
    assert "The model's own step on this CPU" in text
    assert "No accelerator was tried" in text
    assert "voices apart" in text
    assert (tmp_path / "out" / "timeline.png").read_bytes().startswith(b"\x89PNG")

    # TensorFlow 2.15 keeps files of its own there until the process ends.
    assert list(temporary.glob("estimator-io-*")) == []
    left = [thread for thread in threading.enumerate() if thread not in threads]
    assert not [thread for thread in left if not thread.daemon]


def _check(run, figures):
    train, validation = figures["train_rows"], figures["validation_rows"]
    assert run["steps"] == STEPS
    assert run["elements_evaluated"] == 2 * validation
    if run["variant"] == "as written":  # each epoch ends in a short batch
        batches = [BATCH] * (train // BATCH) + ([train % BATCH] if train % BATCH else [])
        trained = sum((batches * STEPS)[:STEPS])
    else:
        trained = STEPS * BATCH
    assert run["elements_needed"] == trained + 2 * validation
    assert run["elements_prepared"] is None or run["elements_prepared"] >= run["elements_needed"]
    assert 0 <= run["waiting_share"] <= 1
    if run["scenario"] == "fixed":
        assert run["accuracy"] is None
    else:
        assert 0 <= run["accuracy"] <= 1


def test_without_matplotlib_one_line_says_what_is_left_out(monkeypatch, tmp_path, tones):
    from estimator_io.demo import main, timeline

    monkeypatch.setattr(timeline, "can_draw", lambda: False)
    said = []
    main._draw([], {}, settings(tones, tmp_path), said.append)
    (line,) = said
    assert "needs matplotlib" in line
    assert "pip install 'estimator-io[demo]'" in line
    assert "\n" not in line


def test_what_tensorflow_logs_goes_to_a_file_and_standard_error_comes_back(tmp_path, capfd):
    import os

    from estimator_io.demo.quiet import log_into

    with log_into(tmp_path / "log") as terminal:
        os.write(2, b"noise\n")
        terminal.write("news\n")
    os.write(2, b"later\n")
    sys.stderr.flush()
    assert (tmp_path / "log").read_text() == "noise\n"
    assert capfd.readouterr().err == "news\nlater\n"
