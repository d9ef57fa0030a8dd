"""`# noqa` and `# noqa: EIO101`: findings that a comment takes back."""

from __future__ import annotations

import re
from collections.abc import Sequence

from estimator_io.lint.finding import Finding

__all__ = ["is_silenced"]

_COMMENT = re.compile(
    r"#\s*noqa(?P<codes>\s*:\s*(?P<list>[A-Za-z]+\d+(?:[\s,]+[A-Za-z]+\d+)*))?", re.IGNORECASE
)


def is_silenced(finding: Finding, lines: Sequence[str]) -> bool:
    """Tells whether a comment on the first or last line of the call takes a finding back."""
    return any(
        _silences(lines[number - 1], finding.code)
        for number in {finding.line, finding.end_line}
        if 0 < number <= len(lines)
    )


def _silences(line: str, code: str) -> bool:
    found = _COMMENT.search(line) if "noqa" in line.lower() else None
    if found is None:
        return False
    codes = found.group("list")
    return codes is None or code in re.split(r"[\s,]+", codes.upper())
