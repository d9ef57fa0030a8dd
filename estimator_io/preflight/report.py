"""What a look found, for people and for programs."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

from estimator_io.preflight.values import Column

__all__ = ["EXIT_CODES", "Finding", "InputReport"]

# Of `estimator-io check`: good, something found, an input_fn that gives nothing to look at.
EXIT_CODES = {"good": 0, "found": 1, "failed": 2}
_MOST_SHOWN = 8


@dataclasses.dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was found.

    Attributes:
      case: its name, such as "endless evaluation".
      certain: whether training or evaluation cannot be right; else it deserves a second look.
      text: what was found, and what to do.
    """

    case: str
    certain: bool
    text: str


@dataclasses.dataclass(frozen=True)
class InputReport:
    """What a look at one input_fn found.

    Attributes:
      name: "train", "eval", "eval_NAME" or "infer".
      title: the function and where it stands.
      mode: in which it was called.
      kind: "Dataset" or "tensors"; "" where it returned nothing.
      columns: the tensors of the batches.
      batches, rows, rows_again, rows_again_in_batch: that came; rows is None where tensors are of
        no common number of rows.
      length: "endless", "N batches", or "at least N batches".
      first_seconds: to the first batch; None without one.
      batches_per_second: behind the first one; None with fewer than two.
      findings: what was found.
      failure: why there was nothing to look at, in one line; "" where there was.
    """

    name: str
    title: str
    mode: str
    kind: str = ""
    columns: tuple[Column, ...] = ()
    batches: int = 0
    rows: int | None = None
    rows_again: int = 0
    rows_again_in_batch: int = 0
    length: str = ""
    first_seconds: float | None = None
    batches_per_second: float | None = None
    findings: tuple[Finding, ...] = ()
    failure: str = ""

    @property
    def status(self) -> str:
        """The key of its exit code."""
        if self.failure:
            return "failed"
        return "found" if self.findings else "good"

    def as_dict(self) -> dict[str, Any]:
        """Returns it as JSON takes it: no NaN and no infinite number."""
        values = dataclasses.asdict(self)
        values["columns"] = [_plain(column) for column in self.columns]
        return {"status": self.status, **values}

    def __str__(self) -> str:
        """The report as people read it."""
        lines = [f"{self.name}: {self.title}"]
        if self.batches:
            lines += [f"  {line}" for line in _spell_batches(self)]
        lines += [f"  {line}" for line in _spell_columns(self.columns)]
        for finding in self.findings:
            grade = "wrong" if finding.certain else "doubt"
            lines.append(f"  {grade} ({finding.case}): {finding.text}")
        if self.failure:
            lines.append(f"  failed: {self.failure}")
        elif not self.findings:
            lines.append("  nothing found")
        return "\n".join(lines)


def _spell_batches(report: InputReport) -> list[str]:
    rate = report.batches_per_second
    speed = f"first batch after {report.first_seconds or 0:.2f} s"
    speed += f", then {rate:,.1f} batches/s" if rate is not None else ""
    lines = [f"{report.kind}, {report.length}; drawn: {report.batches}", speed]
    if report.rows is not None:
        again = report.rows_again + report.rows_again_in_batch
        share = f"{again:,} came before" if again else "each another one"
        inside = f" ({report.rows_again_in_batch:,} in their own batch)" if again else ""
        lines.append(f"{report.rows:,} rows, {share}{inside}")
    return lines


def _spell_columns(columns: tuple[Column, ...]) -> list[str]:
    width = max((len(column.path) for column in columns), default=0)
    return [f"{column.path:{width}}  {_spell_column(column)}" for column in columns]


def _spell_column(column: Column) -> str:
    shapes = " or ".join(str([*shape]) for shape in column.shapes[:3])
    parts = [f"{column.dtype} {shapes}{' …' if len(column.shapes) > 3 else ''}"]
    if column.classes:
        parts.append(_spell_classes(column.classes))
    elif column.mean is not None:
        span = f"{_short(column.minimum)} to {_short(column.maximum)}"
        parts.append(f"{span}, mean {_short(column.mean)}")
    missing = {"NaN": column.nan, "infinite": column.infinite, "empty": column.empty}
    parts += [f"{count:,} of {column.size:,} {word}" for word, count in missing.items() if count]
    return "; ".join(parts)


def _spell_classes(classes: dict[Any, int]) -> str:
    total = sum(classes.values())
    most = sorted(classes.items(), key=lambda item: (-item[1], str(item[0])))
    shown = [f"{_short(value)}: {count / total:.0%}" for value, count in most[:_MOST_SHOWN]]
    rest = [f"{len(most) - _MOST_SHOWN} more"] if len(most) > _MOST_SHOWN else []
    return f"{len(most)} classes ({', '.join([*shown, *rest])})"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, (int, float)) else str(value)


def _plain(column: Column) -> dict[str, Any]:
    values = dataclasses.asdict(column)
    values.pop("total")
    values["mean"] = column.mean
    if column.classes is not None:
        values["classes"] = {str(value): count for value, count in column.classes.items()}
    return {
        name: None if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in values.items()
    }
