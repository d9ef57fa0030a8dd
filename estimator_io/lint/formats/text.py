"""`path:line:column: EIO101 [style] message`, one line a finding."""

from __future__ import annotations

from collections.abc import Sequence

from estimator_io.lint.linter import Report

__all__ = ["render"]


def render(reports: Sequence[Report]) -> str:
    """Returns one line a finding, in the form that editors and flake8's readers know."""
    return "\n".join(
        f"{f.path}:{f.line}:{f.column}: {f.code} [{f.grade.value}] {f.message}"
        for report in reports
        for f in report.findings
    )
