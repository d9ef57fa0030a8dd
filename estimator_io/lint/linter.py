"""From source to findings: one text, one file, or many files in several processes."""

from __future__ import annotations

import ast
import concurrent.futures
import dataclasses
import functools
import gc
import io
import multiprocessing
import os
import re
import sys
import tokenize
import traceback
import warnings
from collections.abc import Iterable, Iterator, Sequence

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.walker import walk
from estimator_io.lint.finding import Finding
from estimator_io.lint.noqa import is_silenced
from estimator_io.lint.rule import Hit, Rule, all_rules
from estimator_io.lint.settings import Settings

__all__ = ["Report", "lint_file", "lint_files", "lint_text", "python_files", "read_source"]

# A file without any of these has no pipeline, and is only parsed.
_WORTH_WALKING = re.compile(r"tensorflow|\btf\.|\bDataset\b|input_fn")
_FILES_FOR_PROCESSES = 32


@dataclasses.dataclass(frozen=True, slots=True)
class Report:
    """What was found in one file.

    Attributes:
      path: the file, as it was given.
      findings: in the order of their lines.
      error: why the file could not be read or parsed; "" where it could.
      line: the line of the error.
      column: its column, from 1.
    """

    path: str
    findings: tuple[Finding, ...] = ()
    error: str = ""
    line: int = 1
    column: int = 1


def lint_text(text: str, path: str = "<text>", settings: Settings | None = None) -> Report:
    """Returns what is found in source code.

    Args:
      text: the source.
      path: the name to report it under.
      settings: what to leave out; everything is reported without.

    Returns:
      The findings, or the reason why the source does not parse.
    """
    settings = settings or Settings()
    try:
        tree = _parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        return _unparsable(path, error)
    if not _WORTH_WALKING.search(text):
        return Report(path)
    try:
        program = walk(text, tree)
        found = list(_findings(program, path, settings))
    except RecursionError:
        return Report(path, error="is nested too deeply to be followed")
    except Exception as error:  # one file must not end the run; the report says what to send
        where = traceback.extract_tb(error.__traceback__)[-1]
        name = f"{os.path.basename(where.filename)}:{where.lineno}"
        return Report(path, error=f"a fault of the linter: {error!r} in {name}; please report it")
    kept = [f for f in found if settings.wants(f) and not is_silenced(f, program.lines)]
    return Report(path, tuple(sorted(kept, key=lambda finding: finding.order)))


def _parse(text: str) -> ast.Module:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # invalid escapes and the like are not what is asked
        return ast.parse(text)


def _unparsable(path: str, error: BaseException) -> Report:
    if isinstance(error, SyntaxError):
        line, column = error.lineno or 1, error.offset or 1
        return Report(path, error=f"does not parse: {error.msg}", line=line, column=max(column, 1))
    return Report(path, error=f"does not parse: {error}")


def _findings(program: Program, path: str, settings: Settings) -> Iterator[Finding]:
    seen: set[tuple[str, int, int]] = set()
    for rule in all_rules_once():
        if not settings.selects(rule.code):
            continue
        for hit in rule.check(program):
            finding = _finding(program, path, rule, hit)
            key = finding.code, finding.line, finding.column
            if key not in seen:
                seen.add(key)
                yield finding


@functools.cache
def all_rules_once() -> tuple[Rule, ...]:
    """Returns every rule; the modules are looked up once a process."""
    return tuple(all_rules().values())


def _finding(program: Program, path: str, rule: Rule, hit: Hit) -> Finding:
    line, column = program.place(hit.node)
    return Finding(
        code=rule.code,
        grade=hit.grade or rule.grade,
        path=path,
        line=line,
        column=column,
        end_line=getattr(hit.node, "end_lineno", line) or line,
        why=hit.why or rule.why,
        remedy=hit.remedy or rule.remedy,
        fix=hit.fix,
    )


def read_source(path: str) -> str:
    """Returns the text of a Python file in the encoding that it declares, line ends as they are.

    Raises:
      OSError: the file cannot be read.
      SyntaxError: it declares an encoding that there is not.
      UnicodeDecodeError: it is not in the encoding it declares.
    """
    with open(path, "rb") as file:
        return decode(file.read())


def decode(content: bytes) -> str:
    """Returns the text of Python source, in the encoding that it declares."""
    encoding, _ = tokenize.detect_encoding(io.BytesIO(content).readline)
    return content.decode(encoding)


def lint_file(path: str, settings: Settings | None = None) -> Report:
    """Returns what is found in a file, or why it cannot be read."""
    try:
        text = read_source(path)
    except OSError as error:
        return Report(path, error=f"cannot be read: {error.strerror or error}")
    except (SyntaxError, UnicodeDecodeError) as error:
        return Report(path, error=f"cannot be decoded: {error}")
    return lint_text(text, path, settings)


def python_files(paths: Iterable[str], settings: Settings) -> Iterator[str]:
    """Yields the files named, and the Python files below the folders named, each once."""
    seen: set[str] = set()
    for path in paths:
        found = _below(path, settings) if os.path.isdir(path) else [path]
        for name in found:
            real = os.path.realpath(name)
            if real not in seen:
                seen.add(real)
                yield name


def _below(folder: str, settings: Settings) -> Iterator[str]:
    for parent, folders, files in os.walk(folder):
        folders[:] = sorted(
            name for name in folders if not settings.excludes(os.path.join(parent, name))
        )
        for name in sorted(files):
            path = os.path.normpath(os.path.join(parent, name))
            if name.endswith((".py", ".pyw")) and not settings.excludes(path):
                yield path


def lint_files(paths: Sequence[str], settings: Settings, jobs: int | None = None) -> list[Report]:
    """Returns a report for each file, in the order given.

    Args:
      paths: files.
      settings: what to leave out.
      jobs: processes; None takes one a core, and this process alone for a few files.
    """
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    jobs = jobs or (cores or 1)
    lint = functools.partial(lint_file, settings=settings)
    if jobs == 1 or len(paths) < _FILES_FOR_PROCESSES:
        return [lint(path) for path in paths]
    method = "spawn" if "tensorflow" in sys.modules or sys.platform != "linux" else "fork"
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_prepare_process
    ) as pool:
        return list(pool.map(lint, paths, chunksize=8))


def _prepare_process() -> None:
    """Lets the garbage collector rest: syntax trees are many objects, and seldom garbage."""
    gc.set_threshold(200_000, 20, 20)
