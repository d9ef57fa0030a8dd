"""What is made of the figures of single windows, on a quiet machine and on a busy one."""

import itertools

import pytest

from estimator_io.profiling.crowding import Crowding
from estimator_io.profiling.timing import least_disturbed, window_size
from estimator_io.profiling.usage import Usage

BUSY, QUIET = Crowding(stretch=4.0), Crowding(stretch=1.0)


def marks(windows, elements=2):
    """Returns the marks of windows of (wall, cpu, queued) milliseconds an element."""
    sums = itertools.accumulate(windows, lambda a, b: [x + y for x, y in zip(a, b, strict=True)])
    ends = [(0.0, 0.0, 0.0), *sums]
    return [
        (at * elements, Usage(*(value * 1e-3 * elements for value in end)))
        for at, end in enumerate(ends)
    ]


def test_on_a_quiet_machine_all_windows_count():
    taken = least_disturbed(marks([(4, 1, 0), (8, 1, 0), (6, 1, 0)]), QUIET)
    assert (taken.waiting, taken.cpu) == (pytest.approx(5e-3), pytest.approx(1e-3))


def test_computing_in_a_queue_is_not_taken_for_waiting():
    windows = [(12, 3, 9), (9, 3, 6), (15, 3, 12), (6, 3, 3)]
    taken = least_disturbed(marks(windows), BUSY)
    assert (taken.waiting, taken.cpu) == (0.0, pytest.approx(3e-3))


def test_waiting_is_seen_beside_threads_that_queue_meanwhile():
    windows = [(9, 0.5, 6), (8.7, 0.5, 0.2), (12, 0.5, 3.5), (15, 0.5, 12)]
    taken = least_disturbed(marks(windows), BUSY)
    assert taken.waiting == pytest.approx(8e-3, abs=1e-3)


def test_a_call_that_computes_in_two_threads_takes_half_the_time():
    assert least_disturbed(marks([(2, 4, 0), (2, 4, 0)]), QUIET).threads == pytest.approx(2.0)
    assert least_disturbed(marks([(4, 4.1, 0), (4, 4.1, 0)]), QUIET).threads == 1.0


def test_windows_are_neither_single_elements_nor_everything():
    assert window_size(each=1e-3, most=2048) == 20
    assert window_size(each=1e-6, most=2048) == 409
    assert window_size(each=1.0, most=8) == 1
    assert window_size(each=1.0, most=1) == 1
