"""The report as a picture, drawn by matplotlib (the extra `profile`)."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.profiling import svg
from estimator_io.profiling.lanes import lanes_of
from estimator_io.profiling.report import Report
from estimator_io.profiling.spelling import seconds as spell

__all__ = ["draw", "require_matplotlib"]

_COLOURS = {"work": svg.WORKING, "step": svg.STEP, "wait": svg.WAITING}


def require_matplotlib() -> None:
    """Checks that pictures can be drawn.

    Raises:
      OptionError: matplotlib is missing.
    """
    if importlib.util.find_spec("matplotlib") is None:
        raise OptionError(
            "A PNG needs matplotlib, which is not installed. Run: pip install"
            " 'estimator-io[profile]'; .html needs nothing."
        )


def draw(report: Report, file: Path) -> None:
    """Writes the bars of the stages, the timeline, and memory over time."""
    require_matplotlib()
    from matplotlib.figure import Figure

    lanes = [] if report.timeline is None else lanes_of(report.timeline)
    heights = [0.6 + 0.35 * len(report.stages), 0.6 + 0.3 * len(lanes), 1.8]
    figure = Figure(figsize=(11, sum(heights) + 1.2), dpi=110)
    panels = figure.subplots(3, 1, height_ratios=heights)
    figure.suptitle(f"{report.verdict.kind}: {report.verdict.stage}", fontsize=13)
    _stages(panels[0], report)
    _lanes(panels[1], report, lanes)
    _memory(panels[2], report)
    figure.tight_layout()
    figure.savefig(file)


def _stages(panel: Any, report: Report) -> None:
    names = [stage.name for stage in report.stages]
    computing = [stage.cpu_seconds * 1e3 for stage in report.stages]
    waiting = [stage.waiting_seconds * 1e3 for stage in report.stages]
    rows = list(range(len(names)))
    panel.barh(rows, computing, color=svg.COMPUTING, label="computing")
    panel.barh(rows, waiting, left=computing, color=svg.WAITING, label="waiting")
    for one in report.applied:
        if one.batches_per_second:
            panel.axvline(1e3 / one.batches_per_second, color=svg.STEP, linestyle="--")
            names_of = f"a batch with {one.suggestion.name}"
            panel.plot([], [], color=svg.STEP, linestyle="--", label=names_of)
    panel.axvline(1e3 / report.batches_per_second, color="black", label="a batch, measured")
    panel.set_yticks(rows, names)
    panel.invert_yaxis()
    panel.set_xlabel("milliseconds for one batch")
    panel.legend(frameon=False, fontsize=8)


def _lanes(panel: Any, report: Report, lanes: Any) -> None:
    panel.set_yticks(range(len(lanes)), [name for name, _ in lanes])
    panel.invert_yaxis()
    for at, (_, spans) in enumerate(lanes):
        for what, colour in _COLOURS.items():
            drawn = [(b * 1e3, (e - b) * 1e3) for b, e, kind in spans if kind == what]
            panel.broken_barh(drawn, (at - 0.36, 0.72), facecolors=colour)
    if report.timeline is not None:
        panel.set_xlim(0, report.timeline.seconds * 1e3)
        panel.set_xlabel(f"milliseconds, with a step of {spell(report.timeline.step_seconds)}")


def _memory(panel: Any, report: Report) -> None:
    panel.plot([at for at, _ in report.memory], [size / 1e6 for _, size in report.memory])
    panel.set_ylim(0, 1.1 * max((size / 1e6 for _, size in report.memory), default=1.0))
    panel.set_xlabel("seconds")
    panel.set_ylabel("MB of the process")
