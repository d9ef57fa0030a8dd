"""The lanes of a timeline, for whoever draws them."""

from __future__ import annotations

from collections.abc import Sequence

from estimator_io.profiling.report import Span, Timeline

__all__ = ["Lane", "lanes_of", "steps_of"]

# A lane's name and its spans: (begin, end, what), what being "work", "step" or "wait".
Lane = tuple[str, list[tuple[float, float, str]]]
MOST_LANES = 6


def lanes_of(timeline: Timeline) -> list[Lane]:
    """Returns the lanes of the workers, stage by stage, and last that of the step."""
    lanes: list[Lane] = []
    for stage in dict.fromkeys(span.lane for span in timeline.spans):
        for number, spans in enumerate(_side_by_side(timeline.spans, stage)[:MOST_LANES], 1):
            lanes.append((f"{stage} {number}", spans))
    lanes.append(("step", steps_of(timeline.waits)))
    return lanes


def _side_by_side(spans: Sequence[Span], stage: str) -> list[list[tuple[float, float, str]]]:
    """Returns the spans of a stage in as few rows as let none of them overlap."""
    rows: list[list[tuple[float, float, str]]] = []
    for span in sorted((s for s in spans if s.lane == stage), key=lambda span: span.begin):
        free = next((row for row in rows if row[-1][1] <= span.begin), None)
        if free is None:
            free = []
            rows.append(free)
        free.append((span.begin, span.end, "work"))
    return rows


def steps_of(waits: Sequence[tuple[float, float]]) -> list[tuple[float, float, str]]:
    """Returns when the step waited, and when it ran in between."""
    spans: list[tuple[float, float, str]] = []
    for at, (begin, end) in enumerate(waits):
        spans.append((begin, end, "wait"))
        if at + 1 < len(waits):
            spans.append((end, waits[at + 1][0], "step"))
    return spans
