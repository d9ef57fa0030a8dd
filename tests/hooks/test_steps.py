"""How requests for batches are told apart by execution."""

import numpy as np
import pytest

from estimator_io.hooks.steps import Steps, waits_of

BEGAN, ENDED = np.array([10.0, 20.0, 30.0]), np.array([18.0, 28.0, 38.0])


@pytest.mark.parametrize(
    ("requests", "waiting"),
    [
        ([], [np.nan, np.nan, np.nan]),
        ([(11, 12), (21, 24), (31, 31)], [1, 3, 0]),
        ([(31, 32), (11, 12)], [1, np.nan, 1]),  # in any order; and one that was not seen
        ([(11, 12), (14, 17), (21, 22)], [4, 1, np.nan]),  # two requests, one after the other
        ([(11, 15), (12, 14), (13, 17)], [6, np.nan, np.nan]),  # overlapping: counted once
        ([(9, 10), (19, 19.5), (39, 40), (11, 12)], [1, np.nan, np.nan]),  # of none of them
        ([(10 - 1e-6, 11), (28 + 1e-6, 28.5)], [1, 0.5, np.nan]),  # rounded to microseconds
    ],
)
def test_a_request_belongs_to_the_execution_that_it_lies_in(requests, waiting):
    asked, got = np.reshape(np.array(requests, float), (-1, 2)).T
    found, of = waits_of(asked, got, BEGAN, ENDED)
    np.testing.assert_allclose(found, waiting, atol=2e-6)
    for at, number in zip(asked, of, strict=True):
        inside = np.flatnonzero((at >= BEGAN - 2e-6) & (at <= ENDED + 2e-6))
        assert number == (inside[0] if len(inside) else -1)


@pytest.mark.parametrize("ends", [[], [2], [1, 4], [5], [1, 2, 3, 4, 5]])
def test_steps_are_cut_without_losing_one(ends):
    steps = Steps(np.arange(5.0), np.arange(5.0) + 1, np.arange(5))
    parts = list(steps.cut(ends))
    assert [len(part.seconds) for part in parts] == list(np.diff([0, *sorted({*ends, 5})]))
    np.testing.assert_array_equal(np.concatenate([p.waiting for p in parts]), steps.waiting)
    np.testing.assert_array_equal(np.concatenate([p.counts for p in parts]), steps.counts)
