"""Writes a report to a file, in the format that its name ends in."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["check_path", "save"]

_ENDINGS = (".html", ".json", ".png", ".txt")


def check_path(path: str | os.PathLike[str]) -> Path:
    """Returns a path that a report can be written to.

    Raises:
      OptionError: it ends otherwise, its folder is not there or not to be written, or it is a
        PNG and matplotlib is missing.
    """
    file = Path(path)
    if file.suffix not in _ENDINGS:
        raise OptionError(
            f"A report is written by the end of its name. Received: {str(file)!r}. Expected: one of"
            f" {', '.join(_ENDINGS)}."
        )
    if not _is_writable(file):
        raise OptionError(
            f"The report cannot be written to {str(file)!r}. Expected: a file in a folder that"
            " exists and may be written."
        )
    if file.suffix == ".png":
        from estimator_io.profiling.png import require_matplotlib

        require_matplotlib()
    return file


def _is_writable(file: Path) -> bool:
    """Tells whether a file can be written, by opening it: permissions do not tell all."""
    new = not file.exists()
    try:
        with file.open("ab"):
            pass
        if new:
            file.unlink()
    except OSError:
        return False
    return True


def save(report: Any, path: str | os.PathLike[str]) -> None:
    """Writes `report` to `path`.

    Raises:
      OptionError: as `check_path`, or the disk refuses.
    """
    file = check_path(path)
    try:
        if file.suffix == ".png":
            from estimator_io.profiling.png import draw

            draw(report, file)
            return
        writers: dict[str, Callable[[], str]] = {
            ".html": report.to_html,
            ".json": report.to_json,
            ".txt": lambda: str(report),
        }
        file.write_text(writers[file.suffix]() + "\n", encoding="utf-8")
    except OSError as error:
        raise OptionError(
            f"The report cannot be written to {str(file)!r}: {error.strerror or error}."
        ) from error
