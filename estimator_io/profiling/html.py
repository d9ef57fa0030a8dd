"""The report as one HTML page that fetches nothing from elsewhere: no script, no font, no image."""

from __future__ import annotations

from html import escape

from estimator_io.profiling import svg
from estimator_io.profiling.lanes import lanes_of
from estimator_io.profiling.report import Report, Suggestion
from estimator_io.profiling.spelling import amount, gain, rate
from estimator_io.profiling.spelling import seconds as spell
from estimator_io.profiling.text import costs_of_change

__all__ = ["page"]

_COLOURS = {"work": svg.WORKING, "step": svg.STEP, "wait": svg.WAITING}
_STYLE = """
body{font:15px/1.45 sans-serif;max-width:960px;margin:2em auto;padding:0 1em;color:#222}
table{border-collapse:collapse;width:100%;font-size:13px}
td,th{padding:4px 8px;border-bottom:1px solid #ddd;text-align:right}
td:first-child,th:first-child,td.l,th.l{text-align:left}
.limit{font-weight:bold}.verdict{font-size:18px}code{background:#f3f3f3;padding:1px 4px}
.key span{display:inline-block;width:12px;height:12px;margin:0 4px 0 14px}
"""


def page(report: Report) -> str:
    """Returns the page."""
    body = [
        f"<h1>{escape(report.target)}</h1>",
        f'<p class="verdict"><b>{report.verdict.kind}</b>. {escape(report.verdict.text)}</p>',
        _figures(report),
        "<h2>Stages: seconds for one batch, one call at a time</h2>",
        _key(("computing", svg.COMPUTING), ("waiting", svg.WAITING)),
        _bars(report),
        _table(report),
        "<h2>What to change</h2>",
        _suggestions(report),
        _applied(report),
        _timeline(report),
        "<h2>Memory of the process</h2>",
        svg.curve([(at, size / 1e6) for at, size in report.memory], "MB"),
        *(f"<p><i>{escape(note)}</i></p>" for note in report.notes),
    ]
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        f"<title>{escape(report.target)}: {report.verdict.kind}</title><style>{_STYLE}</style>"
        f"</head><body>{''.join(body)}</body></html>"
    )


def _figures(report: Report) -> str:
    step = "" if report.step_seconds is None else f" The step takes {spell(report.step_seconds)}."
    disk = report.machine.disk_bytes_per_second
    return (
        f"<p>{rate(report.batches_per_second)} batches/s of {report.batch_rows:,} rows,"
        f" {rate(report.rows_per_second)} rows/s, {amount(report.batch_bytes)} a batch. First batch"
        f" after {spell(report.first_batch_seconds)}.{step} Mode {report.mode}, TensorFlow"
        f" {report.tensorflow}, {report.machine.cores} cores,"
        f" {amount(report.machine.memory_bytes)} of memory"
        + (f", files read at {amount(disk)}/s past the page cache" if disk else "")
        + ".</p>"
    )


def _key(*colours: tuple[str, str]) -> str:
    items = "".join(f'<span style="background:{code}"></span>{name}' for name, code in colours)
    return f'<p class="key">{items}</p>'


def _bars(report: Report) -> str:
    return svg.bars(
        [(s.name, s.cpu_seconds, s.waiting_seconds, spell(s.seconds)) for s in report.stages]
    )


def _table(report: Report) -> str:
    head = (
        '<tr><th>stage</th><th>elements a batch</th><th>bytes each</th><th class="l">calls</th>'
        '<th>AUTOTUNE chose</th><th>buffer</th><th class="l">code</th></tr>'
    )
    rows = []
    for stage in report.stages:
        chosen = "" if stage.chosen is None else f"{stage.chosen:.0f}"
        buffer = "" if stage.buffered is None else f"{stage.buffered[0]} / {stage.buffered[1]:.0f}"
        rows.append(
            f'<tr class="{"limit" if stage.limits else ""}"><td>{escape(stage.name)}</td>'
            f"<td>{stage.elements:,.1f}</td><td>{amount(stage.bytes)}</td>"
            f'<td class="l">{escape(stage.asked)}{" Python" if stage.python else ""}</td>'
            f'<td>{chosen}</td><td>{buffer}</td><td class="l">{escape(stage.place or "")}</td></tr>'
        )
    return f"<table>{head}{''.join(rows)}</table>"


def _suggestions(report: Report) -> str:
    if not report.suggestions:
        return "<p>No change was found that would bring a tenth or more.</p>"
    return f"<ol>{''.join(_suggestion(one) for one in report.suggestions)}</ol>"


def _suggestion(one: Suggestion) -> str:
    where = f"{escape(one.place)}: " if one.place else ""
    cost = "".join(f"; costs {escape(each)}" for each in costs_of_change(one))
    return (
        f"<li>{where}<code>{escape(one.edit)}</code><br>predicted"
        f" {rate(one.batches_per_second)} batches/s ({gain(one.gain, one.gain_between)}){cost}."
        f" {escape(one.reason)}</li>"
    )


def _applied(report: Report) -> str:
    if not report.applied:
        return ""
    rows = [
        ("as it is", 1 / report.batches_per_second, 0.0, f"{rate(report.batches_per_second)}/s")
    ]
    for one in report.applied:
        measured = one.batches_per_second
        text = "no two batches in time" if measured is None else f"{rate(measured)}/s"
        predicted = f"{text}, predicted {rate(one.suggestion.batches_per_second)}/s"
        rows.append((one.suggestion.name, 1 / measured if measured else 0.0, 0.0, predicted))
    return f"<h2>Before and after: seconds a batch</h2>{svg.bars(rows)}"


def _timeline(report: Report) -> str:
    if report.timeline is None:
        return ""
    rows = [
        (name, [(begin, end, _COLOURS[what]) for begin, end, what in spans])
        for name, spans in lanes_of(report.timeline)
    ]
    told = f"a step of {spell(report.timeline.step_seconds)} that uses no processor"
    return (
        f"<h2>What ran when, with {told}</h2>"
        + _key(("a worker", svg.WORKING), ("the step", svg.STEP), ("it waits", svg.WAITING))
        + svg.lanes(rows, report.timeline.seconds)
    )
