"""What every benchmark tells beside its figures: machine, versions, JSON, Markdown tables."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["fill_section", "machine", "markdown_table", "spell_machine", "write_json"]

_PACKAGES = ("tensorflow", "tensorflow-estimator", "numpy", "soundfile")


def machine() -> dict[str, Any]:
    """Returns what the figures depend on: processor, cores, memory, load and versions."""
    return {
        "processor": _processor(),
        "cores": len(os.sched_getaffinity(0)),
        "memory_gib": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30, 1),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
        # Above the number of cores, somebody else was measuring too.
        "load_before": round(os.getloadavg()[0], 2),
        "versions": {name: _version(name) for name in _PACKAGES},
    }


def _processor() -> str:
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    found = re.search(r"^model name\s*:\s*(.+)$", text, re.MULTILINE)
    return found.group(1).strip() if found else platform.processor()


def _version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def spell_machine(facts: dict[str, Any]) -> str:
    """Returns the facts of `machine` in one line."""
    versions = ", ".join(f"{name} {number}" for name, number in facts["versions"].items())
    return (
        f"{facts['processor']}, {facts['cores']} cores, {facts['memory_gib']} GiB,"
        f" {facts['system']}; Python {facts['python']}, {versions};"
        f" load before the run {facts['load_before']}"
    )


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Returns a Markdown table, its first column to the left and the others to the right."""
    marks = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (header, marks, *rows))


def write_json(path: Path, content: Any) -> None:
    """Writes `content` so that a run that is killed leaves the file before it, or this one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(path.name + ".partial")
    partial.write_text(json.dumps(content, indent=1) + "\n")
    partial.replace(path)


def fill_section(page: Path, name: str, text: str) -> None:
    """Replaces what stands between `<!-- name -->` and `<!-- /name -->` in a page.

    Raises:
      ValueError: the page has no such pair of markers.
    """
    start, end = f"<!-- {name} -->", f"<!-- /{name} -->"
    before, found, rest = page.read_text().partition(start)
    _, closed, after = rest.partition(end)
    if not found or not closed:
        raise ValueError(
            f"{page} has no section for these figures. Expected: a line {start} and behind it a"
            f" line {end}."
        )
    page.write_text(f"{before}{start}\n\n{text.strip()}\n\n{end}{after}")
