"""Charts as inline SVG: bars of the stages, lanes of a timeline, a curve over time."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

__all__ = ["COMPUTING", "STEP", "WAITING", "WORKING", "bars", "curve", "lanes"]

# Colours of Okabe and Ito's palette, which colour-blind readers can tell apart.
COMPUTING, WAITING, STEP, WORKING = "#0072B2", "#D55E00", "#009E73", "#56B4E9"
WIDTH, LABEL, ROW = 900, 170, 26


def bars(rows: Sequence[tuple[str, float, float, str]]) -> str:
    """Returns a bar for each (name, computing, waiting, text), in one scale."""
    most = max((computing + waiting for _, computing, waiting, _ in rows), default=0.0) or 1.0
    scale = (WIDTH - LABEL - 150) / most
    parts = []
    for at, (name, computing, waiting, text) in enumerate(rows):
        y = at * ROW
        parts += [
            _label(name, y),
            _box(LABEL, y, computing * scale, COMPUTING),
            _box(LABEL + computing * scale, y, waiting * scale, WAITING),
            _text(LABEL + (computing + waiting) * scale + 6, y + 17, text),
        ]
    return _svg(parts, len(rows) * ROW)


def lanes(rows: Sequence[tuple[str, Sequence[tuple[float, float, str]]]], seconds: float) -> str:
    """Returns a lane for each (name, [(begin, end, colour)]), over `seconds`."""
    scale = (WIDTH - LABEL - 10) / max(seconds, 1e-9)
    parts = []
    for at, (name, spans) in enumerate(rows):
        parts.append(_label(name, at * ROW))
        for begin, end, colour in spans:
            left, right = max(0.0, begin), min(seconds, end)
            if right > left:
                parts.append(_box(LABEL + left * scale, at * ROW, (right - left) * scale, colour))
    height = len(rows) * ROW
    parts.append(_text(LABEL, height + 14, "0"))
    parts.append(_text(WIDTH - 70, height + 14, f"{seconds * 1e3:,.0f} ms"))
    return _svg(parts, height + 20)


def curve(points: Sequence[tuple[float, float]], unit: str) -> str:
    """Returns a curve through (seconds, value), from 0 to its peak."""
    if len(points) < 2:
        return ""
    peak = max(value for _, value in points) or 1.0
    last = points[-1][0] or 1.0
    height, wide = 110, WIDTH - LABEL - 90
    line = " ".join(
        f"{LABEL + wide * at / last:.1f},{height - (height - 10) * value / peak:.1f}"
        for at, value in points
    )
    return _svg(
        [
            f'<polyline fill="none" stroke="{COMPUTING}" stroke-width="2" points="{line}"/>',
            _text(LABEL + wide + 6, 16, f"{peak:,.0f} {unit}"),
            _text(LABEL, height + 14, f"0 to {last:.1f} s"),
        ],
        height + 20,
    )


def _svg(parts: Sequence[str], height: float) -> str:
    body = "".join(parts)
    return (
        f'<svg viewBox="0 0 {WIDTH} {height:.0f}" width="100%" role="img"'
        f' font-family="sans-serif" font-size="13">{body}</svg>'
    )


def _box(x: float, y: float, width: float, colour: str) -> str:
    if width <= 0:
        return ""
    return (
        f'<rect x="{x:.1f}" y="{y + 4:.1f}" width="{max(width, 0.3):.1f}" height="{ROW - 8}"'
        f' fill="{colour}"/>'
    )


def _label(name: str, y: float) -> str:
    return f'<text x="{LABEL - 8}" y="{y + 17:.0f}" text-anchor="end">{escape(name)}</text>'


def _text(x: float, y: float, text: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.0f}" fill="#444">{escape(text)}</text>'
