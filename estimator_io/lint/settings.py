"""What a project wants to hear: the section [tool.estimator-io.lint] of its pyproject.toml."""

from __future__ import annotations

import dataclasses
import fnmatch
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.lint.finding import Finding, Grade
from estimator_io.lint.rule import all_rules

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["DEFAULT_EXCLUDE", "Settings", "find_settings", "settings_of"]

DEFAULT_EXCLUDE = (
    ".*",
    "__pycache__",
    "build",
    "dist",
    "node_modules",
    "site-packages",
    "venv",
    "*.egg-info",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """Which findings are reported, for which files.

    Attributes:
      select: codes, or beginnings of codes ("EIO2"), that are reported.
      ignore: codes, or beginnings, that are not.
      grade: the least grade that is reported.
      exclude: patterns of files and folders that a walk leaves out, by name or by path.
      per_file_ignores: patterns of files, each with codes that are not reported there.
      root: the folder that paths of patterns are relative to.
    """

    select: tuple[str, ...] = ("EIO",)
    ignore: tuple[str, ...] = ()
    grade: Grade = Grade.STYLE
    exclude: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    root: str = "."

    def wants(self, finding: Finding) -> bool:
        """Tells whether a finding is reported."""
        if finding.grade.rank > self.grade.rank or not self.selects(finding.code):
            return False
        return not any(
            finding.code.startswith(codes)
            for pattern, codes in self.per_file_ignores
            if self._matches(finding.path, pattern)
        )

    def selects(self, code: str) -> bool:
        """Tells whether a rule is used: the longest beginning that names it decides."""
        chosen = max((len(s) for s in self.select if code.startswith(s)), default=-1)
        left_out = max((len(s) for s in self.ignore if code.startswith(s)), default=-1)
        return chosen > left_out

    def excludes(self, path: str) -> bool:
        """Tells whether a walk leaves a file or folder out."""
        name = os.path.basename(path)
        if any(fnmatch.fnmatch(name, pattern) for pattern in DEFAULT_EXCLUDE):
            return name not in (".", "..")
        return any(self._matches(path, pattern) for pattern in self.exclude)

    def excludes_file(self, path: str) -> bool:
        """Tells whether a file that is named is left out by `exclude`, or by a folder above it."""
        return any(self._matches(path, pattern) for pattern in (*DEFAULT_EXCLUDE, *self.exclude))

    def _matches(self, path: str, pattern: str) -> bool:
        relative = PurePosixPath(os.path.relpath(path, self.root).replace(os.sep, "/"))
        spelled = pattern.rstrip("/")
        names = [str(relative), *(str(parent) for parent in relative.parents)]
        if "/" not in spelled:
            names = list(relative.parts)
        return any(fnmatch.fnmatch(name, spelled) for name in names)


def find_settings(start: str | os.PathLike[str]) -> tuple[Path | None, Settings]:
    """Returns the nearest pyproject.toml at or above a folder, and what it says.

    Raises:
      OptionError: the file cannot be read, or its section has an unknown key or a wrong value.
    """
    folder = Path(start).resolve()
    for candidate in [folder, *folder.parents]:
        path = candidate / "pyproject.toml"
        if path.is_file():
            return path, settings_of(path)
    return None, Settings()


def settings_of(path: Path) -> Settings:
    """Returns what a pyproject.toml says.

    Raises:
      OptionError: the file cannot be read, or its section has an unknown key or a wrong value.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise OptionError(f"{path} cannot be read as TOML: {error}") from error
    section: Any = content
    for key in ("tool", "estimator-io", "lint"):
        section = section.get(key, {}) if isinstance(section, dict) else {}
    return _from_section(section, path)


def _from_section(section: Mapping[str, Any], path: Path) -> Settings:
    known = {"select", "ignore", "grade", "exclude", "per-file-ignores"}
    unknown = sorted(set(section) - known)
    if unknown:
        raise OptionError(
            f"{path}: [tool.estimator-io.lint] has an unknown key. Received: {', '.join(unknown)}."
            f" Expected: {', '.join(sorted(known))}."
        )
    ignores = section.get("per-file-ignores", {})
    if not isinstance(ignores, dict):
        raise OptionError(
            f"{path}: per-file-ignores. Received: {ignores!r}. Expected: a table of file patterns,"
            ' each with a list of codes, such as {"tests/**" = ["EIO1"]}.'
        )
    return Settings(
        select=codes_of(section.get("select", ["EIO"]), f"{path}: select"),
        ignore=codes_of(section.get("ignore", []), f"{path}: ignore"),
        grade=grade_of(section.get("grade", "style"), f"{path}: grade"),
        exclude=_texts(section.get("exclude", []), f"{path}: exclude"),
        per_file_ignores=tuple(
            (pattern, codes_of(codes, f"{path}: per-file-ignores"))
            for pattern, codes in ignores.items()
        ),
        root=str(path.parent),
    )


def codes_of(value: Any, where: str) -> tuple[str, ...]:
    """Returns codes, or beginnings of codes, after seeing that each names a rule.

    Raises:
      OptionError: one of them names none.
    """
    codes = tuple(code.upper() for code in _texts(value, where))
    for code in codes:
        if not any(known.startswith(code) for known in all_rules()):
            raise OptionError(
                f"{where}: no rule has this code. Received: {code!r}. Expected: codes such as"
                " EIO101, or their beginnings, such as EIO1; docs/lint.md lists them."
            )
    return codes


def grade_of(value: Any, where: str) -> Grade:
    """Returns the grade of a name.

    Raises:
      OptionError: there is none of that name.
    """
    try:
        return Grade(value)
    except ValueError:
        names = ", ".join(grade.value for grade in Grade)
        raise OptionError(f"{where}: Received: {value!r}. Expected: one of {names}.") from None


def _texts(value: Any, where: str) -> tuple[str, ...]:
    if not isinstance(value, Sequence) or isinstance(value, str):
        raise OptionError(f"{where}: Received: {value!r}. Expected: a list of strings.")
    if not all(isinstance(item, str) and item for item in value):
        raise OptionError(f"{where}: Received: {value!r}. Expected: a list of strings.")
    return tuple(value)
