"""Annotations of GitHub Actions: `::warning file=…,line=…,col=…,title=…::message`.

The form is that of https://docs.github.com/actions/reference/workflow-commands-for-github-actions.
"""

from __future__ import annotations

from collections.abc import Sequence

from estimator_io.lint.finding import Grade
from estimator_io.lint.linter import Report

__all__ = ["render"]

_LEVELS = {Grade.WRONG: "error", Grade.SLOW: "warning", Grade.STYLE: "notice"}


def render(reports: Sequence[Report]) -> str:
    """Returns one annotation a finding, and one a file that could not be read."""
    lines = []
    for report in reports:
        if report.error:
            lines.append(
                _annotation("error", report.path, report.line, report.column, "lint", report.error)
            )
        for f in report.findings:
            message = f"{f.why} {f.remedy}"
            level = _LEVELS[f.grade]
            lines.append(_annotation(level, f.path, f.line, f.column, f.code, message))
    return "\n".join(lines)


def _annotation(level: str, path: str, line: int, column: int, title: str, text: str) -> str:
    properties = f"file={_property(path)},line={line},col={column},title={_property(title)}"
    return f"::{level} {properties}::{_data(text)}"


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(text).replace(":", "%3A").replace(",", "%2C")
