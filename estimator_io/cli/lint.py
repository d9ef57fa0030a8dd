"""`estimator-io lint`: slow and wrong input pipelines, found in source code without running it."""

from __future__ import annotations

import argparse
import dataclasses
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError

if TYPE_CHECKING:
    from estimator_io.lint.linter import Report
    from estimator_io.lint.settings import Settings

__all__ = ["configure", "run"]

_EPILOG = """
exit code: 0 nothing found, 1 something found, 2 a file could not be read or parsed, or an option
is wrong. `# noqa` and `# noqa: EIO101` on a line take back what is said of it. Settings stand in
[tool.estimator-io.lint] of the nearest pyproject.toml: select, ignore, grade, exclude,
per-file-ignores. docs/lint.md describes every code.

examples:
  estimator-io lint .
  estimator-io lint train.py --fix
  estimator-io lint --select EIO2,EIO3 --format sarif src > lint.sarif
  estimator-io lint --explain EIO205
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "paths", nargs="*", metavar="FILE", help="files, folders, or - for standard input"
    )
    parser.add_argument("--select", metavar="CODES", help="codes or their beginnings, by commas")
    parser.add_argument("--ignore", metavar="CODES", help="codes or beginnings to leave out")
    parser.add_argument("--grade", help="the least grade reported: wrong, slow or style (default)")
    parser.add_argument("--exclude", metavar="PATTERNS", help="files and folders to leave out")
    parser.add_argument(
        "--force-exclude",
        action="store_true",
        help="leave files out too that are named, as pre-commit names them",
    )
    parser.add_argument(
        "--format", default="text", choices=["text", "json", "github", "sarif"], dest="output"
    )
    parser.add_argument(
        "--fix", action="store_true", help="mend what leaves the elements as they are"
    )
    parser.add_argument(
        "--unsafe-fixes",
        action="store_true",
        help="with --fix, mend too what changes elements or their order",
    )
    parser.add_argument("--config", metavar="FILE", help="a pyproject.toml to take settings from")
    parser.add_argument("--jobs", type=int, metavar="N", help="processes (default: one a core)")
    parser.add_argument(
        "--stdin-filename", default="<stdin>", metavar="FILE", help="the name to report - under"
    )
    parser.add_argument("--explain", metavar="CODE", help="print what a code means, and end")


def run(arguments: argparse.Namespace) -> int:
    """Lints files and prints what is found.

    Args:
      arguments: what `configure` declared.

    Returns:
      0, or 1 where something was found, or 2 where a file could not be read or parsed.

    Raises:
      OptionError: an option or a setting has a value that cannot be, or LibCST is missing.
    """
    try:
        code = _run(arguments)
        sys.stdout.flush()
    except BrokenPipeError:  # `| head`: who reads has enough; exit as if nothing was left to say
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


def _run(arguments: argparse.Namespace) -> int:
    if arguments.explain is not None:
        return _explain(arguments.explain)
    if not arguments.paths:
        raise OptionError("No file is named. Expected: files, folders, or - for standard input.")
    if arguments.jobs is not None and arguments.jobs < 1:
        raise OptionError(f"--jobs. Received: {arguments.jobs}. Expected: 1 or more.")
    from estimator_io.lint import linter
    from estimator_io.lint.formats import FORMATS

    settings = _settings(arguments)
    stdin_text = _read_stdin() if "-" in arguments.paths else None
    named = [path for path in arguments.paths if path != "-"]
    if arguments.force_exclude:
        named = [path for path in named if not settings.excludes_file(path)]
    paths = list(linter.python_files(named, settings))
    if arguments.fix:
        reports = _fix(paths, settings, arguments, stdin_text)
    else:
        reports = linter.lint_files(paths, settings, arguments.jobs)
        if stdin_text is not None:
            reports.append(linter.lint_text(stdin_text, arguments.stdin_filename, settings))
    return _tell(reports, FORMATS[arguments.output], arguments, stdin_text is not None)


def _explain(code: str) -> int:
    from estimator_io.lint.page import explain
    from estimator_io.lint.rule import all_rules

    rule = all_rules().get(code.upper())
    if rule is None:
        raise OptionError(
            f"--explain: no rule has this code. Received: {code!r}. Expected: a code such as"
            " EIO101; docs/lint.md lists them."
        )
    print(f"{rule.code} {rule.name} ({rule.grade.value})\n\n{explain(rule)}")
    return 0


def _settings(arguments: argparse.Namespace) -> Settings:
    from pathlib import Path

    from estimator_io.lint import settings

    if arguments.config is not None:
        found = settings.settings_of(Path(arguments.config))
    else:
        first = arguments.paths[0]
        folder = first if os.path.isdir(first) else os.path.dirname(os.path.abspath(first))
        _, found = settings.find_settings(os.curdir if first == "-" else folder)
    changes: dict[str, Any] = {}
    for name in ("select", "ignore"):
        given = getattr(arguments, name)
        if given is not None:
            changes[name] = settings.codes_of(_by_commas(given), f"--{name}")
    if arguments.grade is not None:
        changes["grade"] = settings.grade_of(arguments.grade, "--grade")
    if arguments.exclude is not None:
        changes["exclude"] = (*found.exclude, *_by_commas(arguments.exclude))
    return dataclasses.replace(found, **changes)


def _by_commas(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _read_stdin() -> str:
    from estimator_io.lint.linter import decode

    try:
        return decode(sys.stdin.buffer.read())
    except (SyntaxError, UnicodeDecodeError) as error:
        raise OptionError(f"Standard input is no Python source: {error}") from error


def _fix(
    paths: Sequence[str],
    settings: Settings,
    arguments: argparse.Namespace,
    stdin_text: str | None,
) -> list[Report]:
    try:
        from estimator_io.lint.fixes import fix_text
    except ImportError as error:
        raise OptionError(
            f"--fix needs LibCST, which is not installed ({error})."
            " Install it with: pip install 'estimator-io[lint]'"
        ) from error
    from estimator_io.lint import linter

    reports, mended = [], 0
    for path in paths:
        report = linter.lint_file(path, settings)
        if report.error or not any(f.fix for f in report.findings):
            reports.append(report)
            continue
        text = linter.read_source(path)
        fixed = fix_text(text, path, settings, arguments.unsafe_fixes)
        try:
            if fixed.text != text:
                _write(path, fixed.text)
        except OSError as error:
            failure = f"cannot be written: {error.strerror or error}"
            reports.append(dataclasses.replace(report, error=failure))
            continue
        mended += fixed.count
        reports.append(fixed.report)
    if stdin_text is not None:
        fixed = fix_text(stdin_text, arguments.stdin_filename, settings, arguments.unsafe_fixes)
        sys.stdout.write(fixed.text)
        mended += fixed.count
        reports.append(fixed.report)
    print(f"{mended} mended", file=sys.stderr)
    return reports


def _write(path: str, text: str) -> None:
    """Replaces a file at once, in its own encoding and with its own permissions."""
    import shutil
    import tokenize

    with open(path, "rb") as file:
        encoding, _ = tokenize.detect_encoding(file.readline)
    real = os.path.realpath(path)
    handle, partial = tempfile.mkstemp(dir=os.path.dirname(real), suffix=".partial")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(text.encode(encoding))
        shutil.copymode(real, partial)
        os.replace(partial, real)
    except BaseException:
        os.unlink(partial)
        raise


def _tell(
    reports: Sequence[Report],
    render: Callable[[Sequence[Report]], str],
    arguments: argparse.Namespace,
    has_stdin: bool,
) -> int:
    found = sum(len(report.findings) for report in reports)
    failed = [report for report in reports if report.error]
    text = render(reports)
    # With --fix, standard output carries the fixed text of standard input.
    out = sys.stderr if arguments.fix and has_stdin else sys.stdout
    if text:
        print(text, file=out)
    for report in failed:
        print(f"{report.path}:{report.line}:{report.column}: {report.error}", file=sys.stderr)
    if arguments.output == "text":
        mendable = sum(1 for r in reports for f in r.findings if f.fix is not None and f.fix.safe)
        hint = f", {mendable} of them with --fix" if mendable and not arguments.fix else ""
        print(f"{len(reports)} files, {found} findings{hint}", file=sys.stderr)
    if failed:
        return 2
    return 1 if found else 0
