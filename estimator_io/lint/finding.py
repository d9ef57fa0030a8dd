"""What the linter reports: one finding at one place, and the edit that would mend it."""

from __future__ import annotations

import dataclasses
import enum

__all__ = ["Edit", "Finding", "Fix", "Grade", "Span"]


class Grade(enum.Enum):
    """How much a finding matters, from the worst down."""

    WRONG = "wrong"
    """The rows, their order or the evaluation are not what the program says."""
    SLOW = "slow"
    """Time or memory is lost."""
    STYLE = "style"
    """Gain about none: TensorFlow mends it by itself, or it is a matter of clarity."""

    @property
    def rank(self) -> int:
        """Returns 0 for the worst grade."""
        return list(Grade).index(self)


@dataclasses.dataclass(frozen=True, slots=True)
class Span:
    """A piece of source: lines from 1, columns in characters from 0, the end exclusive."""

    line: int
    column: int
    end_line: int
    end_column: int


@dataclasses.dataclass(frozen=True, slots=True)
class Edit:
    """One change of source code.

    Attributes:
      kind: "argument" sets a keyword of the call at `span`, "replace" writes another expression
        at `span`, "append" calls a method on the expression at `span`, "assign" gives the
        statement whose expression is at `span` back to the name that it starts from.
      span: the expression that changes.
      name: the keyword, the method, or the name to assign to.
      value: the source of the argument.
    """

    kind: str
    span: Span
    name: str
    value: str = ""


@dataclasses.dataclass(frozen=True, slots=True)
class Fix:
    """Edits that mend a finding.

    Attributes:
      edits: what to change.
      safe: whether the fixed pipeline yields the same elements in the same order.
    """

    edits: tuple[Edit, ...]
    safe: bool


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing to change, at one place.

    Attributes:
      code: the rule, such as "EIO101".
      grade: how much it matters here.
      path: the file, as it was given.
      line: line, from 1.
      column: column in characters, from 1.
      end_line: the last line of the call, where a `# noqa` counts too.
      why: one sentence: what is wrong.
      remedy: one sentence: what to do.
      fix: the edits, where the linter can make them.
    """

    code: str
    grade: Grade
    path: str
    line: int
    column: int
    end_line: int
    why: str
    remedy: str
    fix: Fix | None = None

    @property
    def message(self) -> str:
        """Returns what to say behind the code: grade, reason and remedy."""
        return f"{self.why} {self.remedy}"

    @property
    def order(self) -> tuple[str, int, int, str]:
        """Returns the key that sorts findings as a reader meets them."""
        return self.path, self.line, self.column, self.code
