"""The picture: what the input workers and the step did at the same time, before and after."""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from estimator_io.demo.measurement import Measurement
from estimator_io.demo.runner import Result
from estimator_io.demo.trace import Activity

__all__ = ["can_draw", "draw_timeline", "merge_spans"]

# Colours of Okabe and Ito's palette, which colour-blind readers can tell apart.
READ, SPECTROGRAM, WAITING, STEP = "#0072B2", "#56B4E9", "#D55E00", "#009E73"
LANES = ("read files", "spectrograms", "training step")
LEGEND = {
    "input workers: read and decode": READ,
    "input workers: spectrograms": SPECTROGRAM,
    "the step runs": STEP,
    "the step waits for input": WAITING,
}
HEIGHT = 0.72
# Spans closer together than this are drawn as one; it is less than a hair on the picture.
RESOLUTION_SECONDS = 2e-4


def can_draw() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def draw_timeline(results: Sequence[Result], titles: dict[str, str], file: Path) -> None:
    """Writes a PNG with a column for each scenario and a panel for each variant.

    Args:
      results: the runs; those of one scenario make a column.
      titles: what each scenario is, in words.
      file: where to.
    """
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    columns = [[r for r in results if r.measurement.scenario == name] for name in titles]
    seconds = min(r.traced.ends[-1] - r.traced.begins[0] for r in results)
    figure = Figure(figsize=(8.5 * len(columns), 1.9 * len(columns[0]) + 1.3), dpi=110)
    grid = figure.subplots(len(columns[0]), len(columns), sharex=True, sharey=True, squeeze=False)
    for at, (title, column) in enumerate(zip(titles.values(), columns, strict=True)):
        for panel, result in zip(grid[:, at], column, strict=True):
            _draw_panel(panel, result, seconds)
        grid[0, at].annotate(
            title, (0, 1.22), xycoords="axes fraction", fontsize=12, fontweight="bold"
        )
        grid[-1, at].set_xlabel("milliseconds, the same scale in every panel")
    figure.legend(
        handles=[Patch(color=color, label=label) for label, color in LEGEND.items()],
        loc="lower center",
        ncols=len(LEGEND),
        frameon=False,
        fontsize=11,
    )
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(file)


def merge_spans(spans: np.ndarray, gap: float) -> np.ndarray:
    """Returns the union of spans, float [n, 2] by rising begin; smaller gaps are closed."""
    merged: list[list[float]] = []
    for begin, end in spans:
        if merged and begin - merged[-1][1] <= gap:
            merged[-1][1] = max(merged[-1][1], end)
        else:
            merged.append([begin, end])
    return np.reshape(np.array(merged, float), (-1, 2))


def _draw_panel(panel: Any, result: Result, seconds: float) -> None:
    steps, start = result.traced, result.traced.begins[0]
    activity: Activity = result.activity
    _draw_lane(panel, 2, activity.read, start, seconds, READ)
    _draw_lane(panel, 1, activity.spectrogram, start, seconds, SPECTROGRAM)
    _draw_lane(panel, 0, np.stack([steps.begins, steps.arrivals], 1), start, seconds, WAITING, 0)
    _draw_lane(panel, 0, np.stack([steps.arrivals, steps.ends], 1), start, seconds, STEP, 0)
    panel.set_xlim(0, seconds * 1e3)
    panel.set_ylim(-0.5, 2.5)
    panel.set_yticks([2, 1, 0], LANES)
    panel.tick_params(axis="y", length=0)
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_title(_heading(result.measurement), loc="left", fontsize=10.5)


def _draw_lane(
    panel: Any,
    lane: int,
    spans: np.ndarray,
    start: float,
    seconds: float,
    color: str,
    gap: float = RESOLUTION_SECONDS,
) -> None:
    merged = merge_spans(spans, gap) if gap else spans
    shown = merged[(merged[:, 1] > start) & (merged[:, 0] < start + seconds)]
    bars = [((begin - start) * 1e3, (end - begin) * 1e3) for begin, end in shown]
    edge = "white" if not gap else "none"
    panel.broken_barh(
        bars, (lane - HEIGHT / 2, HEIGHT), facecolors=color, edgecolor=edge, linewidth=0.4
    )


def _heading(measurement: Measurement) -> str:
    return (
        f"{measurement.variant}, reader in {measurement.reader}:"
        f" {measurement.steps_per_second:.0f} steps/s,"
        f" {measurement.waiting_share:.0%} of step time waiting"
    )
