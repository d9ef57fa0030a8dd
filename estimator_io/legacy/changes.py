"""What was changed in an input function, and why, for people to read."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

__all__ = ["Change", "describe_changes"]


@dataclasses.dataclass(frozen=True)
class Change:
    """One improvement, or one that was not made.

    Attributes:
      what: the part of the pipeline.
      done: what stands there now.
      why: the reason.
      changed: False where the part was left as it is.
    """

    what: str
    done: str
    why: str
    changed: bool = True


def describe_changes(title: str, changes: Iterable[Change]) -> str:
    """Returns a line for each change, "+" before what was changed and "-" before what was left."""
    lines = [title]
    for change in changes:
        sign = "+" if change.changed else "-"
        lines.append(f"  {sign} {change.what} → {change.done}: {change.why}")
    if len(lines) == 1:
        lines.append("  nothing to change")
    return "\n".join(lines)
