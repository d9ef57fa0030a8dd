"""docs/lint.md, and what `--explain` prints: both are made from the rules themselves.

`python -m estimator_io.lint.page docs/lint.md` writes the part of the page between its markers.
"""

from __future__ import annotations

import sys
from pathlib import Path

from estimator_io.lint.rule import Rule, all_rules

__all__ = ["explain", "rules_section", "url_of"]

_PAGE = "docs/lint.md"
_START, _END = "<!-- rules -->", "<!-- /rules -->"
_GROUPS = {"1": "Speed", "2": "The rows and their order", "3": "The Estimator and its graph"}


def url_of(code: str) -> str:
    """Returns the place in the documentation that explains a code."""
    return f"{_PAGE}#{code.lower()}"


def explain(rule: Rule) -> str:
    """Returns what a rule says, with an example, as Markdown without its heading."""
    return "\n\n".join(
        [
            f"{rule.why} {rule.remedy}",
            rule.details,
            f"```python\n{rule.before}\n```",
            f"Better:\n\n```python\n{rule.after}\n```",
        ]
    )


def rules_section() -> str:
    """Returns the table of the rules and one section each."""
    rules = all_rules()
    lines = ["| code | name | grade | what is wrong |", "|---|---|---|---|"]
    for code, rule in rules.items():
        anchor = f"[{code}](#{code.lower()})"
        lines.append(f"| {anchor} | {rule.name} | {rule.grade.value} | {rule.why} |")
    blocks = ["\n".join(lines)]
    group = ""
    for code, rule in rules.items():
        if code[3] != group:
            group = code[3]
            blocks.append(f"## {_GROUPS[group]}")
        # The anchor is written out, since those of headings differ from viewer to viewer.
        blocks.append(f'<a id="{code.lower()}"></a>\n### {code} {rule.name} ({rule.grade.value})')
        blocks.append(explain(rule))
    return "\n\n".join(blocks)


def filled(text: str) -> str:
    """Returns the text of the page with the part between its markers made anew.

    Raises:
      ValueError: the page has no markers.
    """
    head, start, rest = text.partition(_START)
    _, end, tail = rest.partition(_END)
    if not start or not end:
        raise ValueError(f"The page has no lines {_START} and {_END} to write the rules between.")
    return f"{head}{_START}\n\n{rules_section()}\n\n{_END}{tail}"


if __name__ == "__main__":
    path = Path(sys.argv[1])
    path.write_text(filled(path.read_text(encoding="utf-8")), encoding="utf-8")
