"""The report for a terminal."""

from __future__ import annotations

import io
from typing import Any

from estimator_io.profiling.report import Report, Stage, Suggestion
from estimator_io.profiling.spelling import amount, gain, rate
from estimator_io.profiling.spelling import seconds as spell

__all__ = ["as_text", "costs_of_change", "print_report"]

WIDTH = 110
BAR = 18


def as_text(report: Report) -> str:
    """Returns the report without colours, for files and repr."""
    from rich.console import Console

    out = io.StringIO()
    print_report(report, Console(file=out, width=WIDTH, force_terminal=False, color_system=None))
    return out.getvalue()


def print_report(report: Report, console: Any = None) -> None:
    """Prints the report; a terminal gets colours, anything else plain text."""
    from rich.console import Console
    from rich.markup import escape

    console = console or Console()
    style = "bold red" if report.verdict.kind == "input-bound" else "bold"
    console.print(f"[{style}]{report.verdict.kind}[/]  {escape(report.verdict.text)}")
    console.print(escape(_head(report)))
    console.print(_table(report))
    for number, one in enumerate(report.suggestions, 1):
        console.print(f"[bold]{number}.[/] {escape(_suggestion(one))}", highlight=False)
    if not report.suggestions:
        console.print("No change was found that would bring a tenth or more.")
    for applied in report.applied:
        console.print(escape(_applied(applied)), highlight=False)
    for note in report.notes:
        console.print(f"[dim]note: {escape(note)}[/]")


def _head(report: Report) -> str:
    step = "" if report.step_seconds is None else f", step {spell(report.step_seconds)}"
    told = "" if report.measured else " (from the stages)"
    peak = max((size for _, size in report.memory), default=0)
    return (
        f"{report.target}, mode {report.mode}: {rate(report.batches_per_second)} batches/s of"
        f" {report.batch_rows:,} rows ({rate(report.rows_per_second)} rows/s,"
        f" {amount(report.batch_bytes)} a batch){told}{step}; first batch after"
        f" {spell(report.first_batch_seconds)}; process {amount(peak)};"
        f" {report.machine.cores} cores, {amount(report.machine.memory_bytes)};"
        f" TensorFlow {report.tensorflow}"
    )


def _table(report: Report) -> Any:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE, pad_edge=False)
    figures = ("cpu", "waiting", "elements", "bytes each")
    for column in ("stage", "for a batch", "", *figures, "calls", "at"):
        right = column in ("for a batch", *figures)
        table.add_column(column, justify="right" if right else "left", overflow="fold")
    most = max((stage.seconds for stage in report.stages), default=0.0) or 1.0
    for stage in report.stages:
        bar = "#" * max(0, round(BAR * stage.seconds / most))
        table.add_row(
            stage.name + (" <-" if stage.limits else ""),
            spell(stage.seconds),
            bar,
            spell(stage.cpu_seconds),
            spell(stage.waiting_seconds),
            f"{stage.elements:,.1f}" if stage.elements < 10 else f"{stage.elements:,.0f}",
            amount(stage.bytes),
            _calls(stage),
            stage.place or "",
            style="bold" if stage.limits else None,
        )
    return table


def _calls(stage: Stage) -> str:
    text = stage.asked
    if stage.chosen is not None and "AUTOTUNE" in text:
        text = f"AUTOTUNE: {stage.chosen:.0f}"
    if stage.buffered is not None:
        text += f", {stage.buffered[0]} of {stage.buffered[1]:.0f} buffered"
    return text + (", Python" if stage.python else "")


def _suggestion(one: Suggestion) -> str:
    where = f"{one.place}: " if one.place else ""
    if one.name == "nothing":
        return f"{one.edit}. {one.reason}"
    costs = costs_of_change(one)
    cost = f"; costs {' and '.join(costs)}" if costs else ""
    return (
        f"{where}{one.edit}\n   predicted {rate(one.batches_per_second)} batches/s"
        f" ({gain(one.gain, one.gain_between)}){cost}. {one.reason}"
    )


def costs_of_change(one: Suggestion) -> list[str]:
    """Returns what a change costs in memory and on the disk, in words."""
    costs = []
    least = "at least " if one.at_least else ""
    if one.memory_bytes is None:
        costs.append("memory, how much is not known")
    elif abs(one.memory_bytes) >= 1 << 20 or one.at_least:
        sign = "less " if one.memory_bytes < 0 else ""
        costs.append(f"{least}{amount(abs(one.memory_bytes))} {sign}memory")
    if one.disk_bytes is None:
        costs.append("disk, how much is not known")
    elif one.disk_bytes:
        costs.append(f"{least}{amount(one.disk_bytes)} on disk")
    return costs


def _applied(applied: Any) -> str:
    one = applied.suggestion
    if applied.batches_per_second is None:
        return f"tried {one.edit}: no two batches came in time"
    return (
        f"tried {one.edit}: predicted {rate(one.batches_per_second)}, measured"
        f" {rate(applied.batches_per_second)} batches/s ({applied.gain:.1f} times)"
    )
