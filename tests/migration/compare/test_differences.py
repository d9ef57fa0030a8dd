"""Differences, worked out by hand."""

import math

import numpy as np

from migration.compare.differences import Tolerance, difference, largest

TOLERANCE = Tolerance(rtol=0.01, atol=0.001)


def test_the_element_that_differs_most_is_told_relative_to_the_largest_value():
    found = difference(
        "variable", "v", 3, ([[1.0, 2.0], [3.0, -8.0]], [[1, 2.5], [3, -8]]), TOLERANCE
    )
    assert found.element == (0, 1)
    assert (found.estimator, found.model) == (2.0, 2.5)
    assert found.absolute == 0.5
    assert found.relative == 0.5 / 8
    assert not found.equal
    assert difference("v", "", 0, (100.0, 100.9), TOLERANCE).equal
    assert not difference("v", "", 0, (100.0, 101.1), TOLERANCE).equal


def test_numbers_that_are_not_finite_are_equal_only_to_themselves():
    same = ([math.nan, math.inf], [math.nan, math.inf])
    assert difference("v", "", 0, same, TOLERANCE).equal
    other = difference("v", "", 0, ([1.0, math.nan], [1.0, 2.0]), TOLERANCE)
    assert not other.equal
    assert other.absolute == math.inf
    assert other.element == (1,)


def test_zeros_and_empty_tensors_are_equal():
    assert difference("v", "", 0, (0.0, 0.0), TOLERANCE).relative == 0
    assert difference("v", "", 0, (np.zeros((0, 2)), np.zeros((0, 2))), TOLERANCE).equal


def test_the_largest_of_each_tensor_is_kept():
    steps = [difference("loss", "", step, (1.0, 1.0 + step), TOLERANCE) for step in (1, 3, 2)]
    assert [each.step for each in largest(steps)] == [3]
