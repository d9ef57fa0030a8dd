"""Whole files in the style of public programs: exactly what is marked is found, nothing else."""

import re
from pathlib import Path

import pytest

from estimator_io.lint.linter import lint_text

SAMPLES = sorted((Path(__file__).parent / "samples").glob("*.txt"))


@pytest.mark.parametrize("path", SAMPLES, ids=lambda path: path.stem)
def test_a_whole_program_has_the_findings_that_are_marked(path):
    text = path.read_text()
    marked = [
        (number, code)
        for number, line in enumerate(text.splitlines(), 1)
        for code in re.findall(r"EIO\d+", line.partition("# <-")[2])
    ]
    report = lint_text(text, str(path))
    assert report.error == ""
    assert [(f.line, f.code) for f in report.findings] == marked
