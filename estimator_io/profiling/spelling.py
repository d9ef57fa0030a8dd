"""Figures in words: seconds, bytes, rates."""

from __future__ import annotations

from estimator_io.pipeline.memory_limit import spell_bytes

__all__ = ["amount", "gain", "rate", "seconds"]

# Below this an interval says no more than that it is a prediction.
SURE = 1.25


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


def gain(times: float, between: tuple[float, float]) -> str:
    """Returns how many times faster it will be, with the interval where that says something."""
    low, high = between
    sure = high < SURE * times
    return f"{times:.1f} times" + ("" if sure else f", from {low:.1f} to {high:.1f}")


def _digits(value: float) -> str:
    if value >= 100 or value == 0:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"
