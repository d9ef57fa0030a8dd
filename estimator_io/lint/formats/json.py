"""A JSON list with one object a finding, and what could not be read."""

from __future__ import annotations

import json
from collections.abc import Sequence

from estimator_io.lint.linter import Report
from estimator_io.lint.page import url_of

__all__ = ["render"]


def render(reports: Sequence[Report]) -> str:
    """Returns `{"findings": […], "errors": […]}`."""
    findings = [
        {
            "path": f.path,
            "line": f.line,
            "column": f.column,
            "end_line": f.end_line,
            "code": f.code,
            "grade": f.grade.value,
            "why": f.why,
            "remedy": f.remedy,
            "fix": None if f.fix is None else ("safe" if f.fix.safe else "unsafe"),
            "url": url_of(f.code),
        }
        for report in reports
        for f in report.findings
    ]
    errors = [
        {"path": r.path, "line": r.line, "column": r.column, "message": r.error}
        for r in reports
        if r.error
    ]
    return json.dumps({"findings": findings, "errors": errors}, indent=2, ensure_ascii=False)
