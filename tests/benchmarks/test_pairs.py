"""The statistics of paired runs, against values computed by hand."""

from __future__ import annotations

import pytest

from benchmarks.pairs import Interval, median_of_ratios, rotations, run_pairs


def test_each_variant_comes_first_equally_often():
    orders = list(rotations(["a", "b", "c"], 6))
    assert sorted(order[0] for order in orders) == ["a", "a", "b", "b", "c", "c"]
    assert all(sorted(order) == ["a", "b", "c"] for order in orders)


def test_the_second_round_runs_backwards():
    assert list(rotations(["a", "b"], 4)) == [["a", "b"], ["b", "a"], ["b", "a"], ["a", "b"]]


def test_results_stand_in_the_order_of_the_pairs():
    calls = iter(range(100))
    seen: list[tuple[int, str]] = []
    results = run_pairs(
        {"a": lambda: next(calls), "b": lambda: next(calls)},
        2,
        lambda pair, name: seen.append((pair, name)),
    )
    assert results == {"a": [0, 3], "b": [1, 2]}
    assert seen == [(0, "a"), (0, "b"), (1, "b"), (1, "a")]


def test_the_median_is_that_of_the_paired_ratios():
    # Ratios 2, 0.5 and 3: their median is 2. The ratio of the medians would be 4 / 2 or 3 / 2.
    assert median_of_ratios([4, 1, 9], [2, 2, 3]).median == 2.0


def test_the_interval_of_equal_ratios_is_a_point():
    assert median_of_ratios([2, 4, 6], [1, 2, 3]) == Interval(2.0, 2.0, 2.0)


def test_the_interval_of_two_pairs_reaches_from_one_to_the_other():
    # Of two pairs drawn from {1, 3}, a quarter is (1, 1), half (1, 3), a quarter (3, 3): medians
    # 1, 2 and 3, so that the 2.5 % quantile is 1 and the 97.5 % quantile is 3.
    assert median_of_ratios([1, 3], [1, 1]) == Interval(2.0, 1.0, 3.0)


def test_the_interval_of_five_pairs_is_that_of_the_binomial():
    # The median of five draws from 1 to 5 is 1 where three or more are 1: 0.2^3 * (10 * 0.64 +
    # 5 * 0.16 + 0.04) = 5.8 % of the draws, more than 2.5 %; so the interval is all of 1 to 5.
    assert median_of_ratios([1, 2, 3, 4, 5], [1] * 5) == Interval(3.0, 1.0, 5.0)


def test_the_interval_repeats():
    numerators = [1.0, 1.2, 0.9, 1.1, 1.3, 0.8, 1.05]
    assert median_of_ratios(numerators, [1] * 7) == median_of_ratios(numerators, [1] * 7)


@pytest.mark.parametrize(("numerators", "denominators"), [([], []), ([1.0], [1.0, 2.0])])
def test_pairs_that_are_none_are_refused(numerators, denominators):
    with pytest.raises(ValueError, match="as many numerators as denominators"):
        median_of_ratios(numerators, denominators)
