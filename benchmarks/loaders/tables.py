"""The results as Markdown: one table of all loaders, one of the ratios that are promised."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.loaders.results import CaseResult, Difference
from benchmarks.report import markdown_table, spell_machine

__all__ = ["render"]

_LOADERS = ("case", "loader", "rows/s", "CPU µs/row", "library / it", "by CPU time", "values")
_RATIOS = (
    "case",
    "best by hand",
    "library / it",
    "best peer",
    "library / it",
    "accurate / peer",
    "fast / peer",
    "fast / by hand",
)


def render(machine: dict[str, Any], settings: dict[str, Any], results: Sequence[CaseResult]) -> str:
    """Returns the section of one run: what it ran on, and both tables."""
    parts = [
        f"### TensorFlow {machine['versions']['tensorflow']}",
        f"{spell_machine(machine)}. {settings['pairs']} pairs of {settings['seconds']} s,"
        f" {settings['workers']} workers; {settings['pictures']:,} pictures,"
        f" {settings['recordings']:,} recordings, {settings['table_rows']:,} rows of tables.",
        markdown_table(_LOADERS, [row for one in results for row in _loader_rows(one)]),
        markdown_table(_RATIOS, [_ratio_row(result) for result in results]),
    ]
    left_out = _left_out(results)
    return "\n\n".join([*parts, left_out] if left_out else parts)


def _loader_rows(result: CaseResult) -> list[list[str]]:
    return [
        [
            result.case.name,
            name,
            f"{result.rate(name):,.0f}",
            f"{sorted(result.cpu(name))[len(result.cpu(name)) // 2]:,.1f}",
            "" if name == "library" else str(result.speed("library", name)),
            "" if name == "library" else str(result.cpu_speed("library", name)),
            _spell(result.differences[name]),
        ]
        for name in result.runs
    ]


def _spell(apart: Difference) -> str:
    if apart.greatest == 0:
        return "the same"
    if apart.greatest == float("inf"):
        return "others"
    same = f"; as {apart.same_as}" if apart.same_as else ""
    return f"mean {apart.mean:.3g}, at most {apart.greatest:.3g} apart{same}"


def _ratio_row(result: CaseResult) -> list[str]:
    by_hand = result.best(result.case.written_by_hand)
    peer = result.best(result.case.peers)
    row = [result.case.name]
    for other in (by_hand, peer):
        row += ["", ""] if other is None else [other, str(result.speed("library", other))]
    against = [("library accurate", peer), ("library fast", peer), ("library fast", by_hand)]
    for ours, other in against:
        if other is None or ours not in result.runs:
            row.append("")
        else:
            row.append(str(result.speed(ours, other)))
    return row


def _left_out(results: Sequence[CaseResult]) -> str:
    missing: dict[str, set[str]] = {}
    for result in results:
        for name, packages in result.missing.items():
            missing.setdefault(name, set()).update(packages)
    if not missing:
        return ""
    spelled = "; ".join(f"{name} (needs {', '.join(sorted(p))})" for name, p in missing.items())
    return f"Left out, since a package is not installed: {spelled}."
