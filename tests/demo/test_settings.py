"""What the demo refuses, and what it does without TensorFlow."""

from __future__ import annotations

import argparse
import os
import subprocess
import sys

import pytest

from estimator_io.cli import demo
from estimator_io.demo.settings import Settings
from estimator_io.errors import EstimatorIOError, NoDataError, OptionError


def parsed(*arguments):
    parser = argparse.ArgumentParser()
    demo.configure(parser)
    return parser.parse_args(arguments)


def test_a_folder_without_recordings_is_named_in_one_line(tmp_path):
    with pytest.raises(NoDataError, match=r"No recordings in .*nowhere.*--data DIR") as caught:
        Settings(data=tmp_path / "nowhere", output=tmp_path)
    assert "\n" not in str(caught.value)


def test_wav_files_that_lie_in_no_language_folder_are_no_recordings(tmp_path):
    (tmp_path / "a.wav").write_bytes(b"RIFF")
    with pytest.raises(NoDataError, match="No recordings"):
        Settings(data=tmp_path, output=tmp_path / "out")


def test_an_output_that_is_a_file_is_refused(tones, tmp_path):
    (tmp_path / "out").write_text("a file")
    with pytest.raises(OptionError, match=r"--output: .*out.* cannot be made"):
        Settings(data=tones, output=tmp_path / "out")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_an_output_that_cannot_be_written_is_refused(tones, tmp_path):
    (tmp_path / "out").mkdir(mode=0o500)
    with pytest.raises(OptionError, match=r"--output: .*out.* cannot be written"):
        Settings(data=tones, output=tmp_path / "out")


def test_a_json_file_that_is_a_folder_is_refused(tones, tmp_path):
    with pytest.raises(OptionError, match="--json names a folder"):
        Settings(data=tones, output=tmp_path / "out", json=tmp_path)


@pytest.mark.parametrize("steps", ["3", "0", "-5"])
def test_too_few_steps_to_measure_are_refused(tones, tmp_path, steps):
    with pytest.raises(OptionError, match="--steps must be at least"):
        demo.run(parsed(f"--steps={int(steps) - int(steps) % 2}", f"--data={tones}"))


def test_bad_input_is_an_error_of_the_library_before_tensorflow_is_loaded(tmp_path):
    program = (
        "import argparse, sys\n"
        "from estimator_io.cli import demo\n"
        "from estimator_io.errors import EstimatorIOError\n"
        "parser = argparse.ArgumentParser()\n"
        "demo.configure(parser)\n"
        "parser.format_help()\n"
        "try:\n"
        f"    demo.run(parser.parse_args(['--data', {os.fspath(tmp_path)!r}]))\n"
        "except EstimatorIOError:\n"
        "    sys.exit('tensorflow' in sys.modules)\n"
        "sys.exit('no error')\n"
    )
    result = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True)
    assert result.returncode == 0, result.stderr.decode()


def test_recordings_of_one_language_alone_are_refused(tones, tmp_path):
    from estimator_io.demo.data import find_recordings

    with pytest.raises(EstimatorIOError, match="one language alone: 'high'"):
        find_recordings(os.fspath(tones / "high" / "*.wav"))


def test_the_command_line_turns_bad_input_into_one_line_and_exit_code_2(tmp_path, capsys):
    from estimator_io.cli.main import main

    assert main(["demo", "--data", os.fspath(tmp_path / "nowhere")]) == 2
    error = capsys.readouterr().err
    assert error.startswith("estimator-io demo: No recordings in")
    assert error.count("\n") == 1
