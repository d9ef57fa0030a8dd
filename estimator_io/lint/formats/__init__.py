"""How findings are written: each format is a function of reports that returns text."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from estimator_io.lint.formats import github, json, sarif, text
from estimator_io.lint.linter import Report

__all__ = ["FORMATS"]

FORMATS: dict[str, Callable[[Sequence[Report]], str]] = {
    "text": text.render,
    "json": json.render,
    "github": github.render,
    "sarif": sarif.render,
}
