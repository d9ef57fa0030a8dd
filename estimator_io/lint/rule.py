"""A rule: its code, what it says, and the function that finds it in a program."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import pkgutil
import re
from collections.abc import Callable, Iterator

from estimator_io.lint.analysis.program import Program
from estimator_io.lint.finding import Edit, Fix, Grade, Span

__all__ = ["Hit", "Rule", "all_rules", "append_to", "argument", "give_back", "rule", "span_of"]


@dataclasses.dataclass(frozen=True, slots=True)
class Hit:
    """A place that a rule objects to.

    Attributes:
      node: the call.
      grade: how much it matters here; None takes the rule's own grade.
      why: a reason that says more than the rule's own; "" takes that.
      remedy: likewise.
      fix: the edits that mend it.
    """

    node: ast.AST
    grade: Grade | None = None
    why: str = ""
    remedy: str = ""
    fix: Fix | None = None


Check = Callable[[Program], Iterator[Hit]]


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """What is wrong in general, and how to find it.

    Attributes:
      code: such as "EIO101": 1 is speed, 2 the rows and their order, 3 the Estimator.
      name: a few words that name it in the docs.
      grade: how much it matters, unless a hit says otherwise.
      why: one sentence: what is wrong.
      remedy: one sentence: what to do.
      before: source that it objects to.
      after: the same, mended.
      details: what else the documentation says: the docstring of the module.
      check: yields the places in a program.
    """

    code: str
    name: str
    grade: Grade
    why: str
    remedy: str
    before: str
    after: str
    details: str
    check: Check


_RULES: dict[str, Rule] = {}


def rule(
    *, code: str, name: str, grade: Grade, why: str, remedy: str, before: str, after: str
) -> Callable[[Check], Check]:
    """Registers the decorated function as the check of a rule."""

    def register(check: Check) -> Check:
        if code in _RULES:
            raise ValueError(f"Two rules have the code {code}.")
        module = importlib.import_module(check.__module__)
        details = re.sub(r"^EIO\d+: .*?\n\s*", "", (module.__doc__ or "").strip() + "\n", count=1)
        _RULES[code] = Rule(
            code,
            name,
            grade,
            why,
            remedy,
            before.strip("\n"),
            after.strip("\n"),
            details.strip(),
            check,
        )
        return check

    return register


def all_rules() -> dict[str, Rule]:
    """Returns every rule by its code, in order."""
    from estimator_io.lint import rules

    for module in pkgutil.iter_modules(rules.__path__):
        importlib.import_module(f"{rules.__name__}.{module.name}")
    return dict(sorted(_RULES.items()))


def span_of(program: Program, node: ast.AST) -> Span:
    """Returns where an expression stands, in characters."""
    line, end_line = getattr(node, "lineno", 1), getattr(node, "end_lineno", 1)
    start, end = getattr(node, "col_offset", 0), getattr(node, "end_col_offset", 0)
    return Span(line, program.column(line, start), end_line, program.column(end_line, end))


def argument(
    program: Program,
    node: ast.AST,
    name: str,
    value: str,
    safe: bool = True,
    given: ast.expr | None = None,
) -> Fix:
    """Returns the fix that sets an argument of a call.

    Args:
      program: the file.
      node: the call.
      name: the parameter.
      value: the source of what it becomes.
      safe: whether the elements stay as they are.
      given: the expression that the call gives to the parameter now, where it gives one.
    """
    if given is not None and given in getattr(node, "args", ()):
        return Fix((Edit("replace", span_of(program, given), name, value),), safe)
    return Fix((Edit("argument", span_of(program, node), name, value),), safe)


def append_to(program: Program, node: ast.AST, method: str, value: str) -> Fix:
    """Returns the fix that calls a method on what a call returns."""
    return Fix((Edit("append", span_of(program, node), method, value),), safe=True)


def give_back(program: Program, node: ast.AST, name: str, safe: bool) -> Fix:
    """Returns the fix that assigns the value of a statement to a name."""
    return Fix((Edit("assign", span_of(program, node), name),), safe)
