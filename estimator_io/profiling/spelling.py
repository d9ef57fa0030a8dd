"""Figures in words: seconds, bytes, rates."""

from __future__ import annotations

from estimator_io.pipeline.memory_limit import spell_bytes

__all__ = ["amount", "rate", "seconds"]


def seconds(value: float) -> str:
    """Returns a time with three digits: 1.23 s, 4.56 ms, 7.89 us."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("us", 1e6)):
        if value * factor >= 1 or unit == "us":
            return f"{_digits(value * factor)} {unit}"
    raise AssertionError("unreachable")


def amount(value: float | None) -> str:
    """Returns bytes, or a question mark where they are not known."""
    return "?" if value is None else spell_bytes(value)


def rate(value: float) -> str:
    """Returns a number a second."""
    return _digits(value)


def _digits(value: float) -> str:
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
