"""SARIF 2.1.0, which code scanning services read.

The form is that of https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html.
"""

from __future__ import annotations

import json
import os
import urllib.parse
from collections.abc import Sequence
from typing import Any

import estimator_io
from estimator_io.lint.finding import Finding, Grade
from estimator_io.lint.linter import Report, all_rules_once
from estimator_io.lint.page import url_of
from estimator_io.lint.rule import Rule

__all__ = ["render"]

_LEVELS = {Grade.WRONG: "error", Grade.SLOW: "warning", Grade.STYLE: "note"}
_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)


def render(reports: Sequence[Report]) -> str:
    """Returns one run with every finding; what could not be read is a notification of the run."""
    rules = all_rules_once()
    numbers = {rule.code: number for number, rule in enumerate(rules)}
    notifications = [_notification(report) for report in reports if report.error]
    run = {
        "tool": {
            "driver": {
                "name": "estimator-io lint",
                "version": estimator_io.__version__,
                "rules": [_rule(rule) for rule in rules],
            }
        },
        "columnKind": "unicodeCodePoints",
        "results": [_result(f, numbers[f.code]) for report in reports for f in report.findings],
        "invocations": [
            {
                "executionSuccessful": not notifications,
                "toolExecutionNotifications": notifications,
            }
        ],
    }
    return json.dumps({"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}, indent=2)


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "id": rule.code,
        "name": rule.name,
        "shortDescription": {"text": rule.why},
        "fullDescription": {"text": rule.details},
        "help": {"text": rule.remedy},
        "helpUri": url_of(rule.code),
        "defaultConfiguration": {"level": _LEVELS[rule.grade]},
    }


def _result(finding: Finding, number: int) -> dict[str, Any]:
    return {
        "ruleId": finding.code,
        "ruleIndex": number,
        "level": _LEVELS[finding.grade],
        "message": {"text": f"{finding.why} {finding.remedy}"},
        "locations": [_location(finding.path, finding.line, finding.column)],
    }


def _notification(report: Report) -> dict[str, Any]:
    return {
        "level": "error",
        "message": {"text": f"{report.path} {report.error}"},
        "locations": [_location(report.path, report.line, report.column)],
    }


def _location(path: str, line: int, column: int) -> dict[str, Any]:
    uri = urllib.parse.quote(path.replace(os.sep, "/"))
    return {
        "physicalLocation": {
            "artifactLocation": {"uri": uri},
            "region": {"startLine": line, "startColumn": column},
        }
    }
