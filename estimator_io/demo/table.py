"""The table at the end, as text."""

from __future__ import annotations

from collections.abc import Sequence

from estimator_io.demo.measurement import Measurement

__all__ = ["format_table"]

HEADERS = (
    "input_fn",
    "reader",
    "wall s",
    "steps/s",
    "rows/s",
    "waiting",
    "prepared",
    "needed",
    "accuracy",
)
TEXT_COLUMNS = 2


def format_table(measurements: Sequence[Measurement], titles: dict[str, str]) -> str:
    """Returns one block of rows for each scenario, all in the same columns.

    Args:
      measurements: the runs, in the order of the rows.
      titles: what each scenario is, in words.
    """
    rows = [_cells(measurement) for measurement in measurements]
    widths = [max(map(len, column)) for column in zip(HEADERS, *rows, strict=True)]
    lines = []
    for scenario, title in titles.items():
        lines += [
            "",
            title,
            _line(HEADERS, widths),
            _line(["-" * width for width in widths], widths),
        ]
        lines += [
            _line(row, widths)
            for row, measurement in zip(rows, measurements, strict=True)
            if measurement.scenario == scenario
        ]
    return "\n".join(lines[1:])


def _cells(measurement: Measurement) -> list[str]:
    accuracy, prepared = measurement.accuracy, measurement.prepared
    return [
        measurement.variant,
        measurement.reader,
        f"{measurement.wall_seconds:.1f}",
        f"{measurement.steps_per_second:.1f}",
        f"{measurement.rows_per_second:,.0f}",
        f"{measurement.waiting_share:.0%}",
        "?" if prepared is None else f"{prepared:,}",
        f"{measurement.needed:,}",
        "-" if accuracy is None else f"{accuracy:.0%}",
    ]


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    texts = zip(cells[:TEXT_COLUMNS], widths[:TEXT_COLUMNS], strict=True)
    numbers = zip(cells[TEXT_COLUMNS:], widths[TEXT_COLUMNS:], strict=True)
    return "  ".join(
        [*(cell.ljust(width) for cell, width in texts), *(c.rjust(w) for c, w in numbers)]
    )
