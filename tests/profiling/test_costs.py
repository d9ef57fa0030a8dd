"""What is made of the figures of single windows, on a quiet machine and on a busy one."""

import itertools

import pytest
import tensorflow as tf

from estimator_io.profiling.costs import _least_disturbed, costs_of
from estimator_io.profiling.crowding import Crowding
from estimator_io.profiling.target import chain_of_target
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
    used = _least_disturbed(marks([(4, 1, 0), (8, 1, 0), (6, 1, 0)]), QUIET)
    assert (used.wall, used.cpu) == (pytest.approx(6e-3), pytest.approx(1e-3))


def test_computing_in_a_queue_is_not_taken_for_waiting():
    windows = [(12, 3, 9), (9, 3, 6), (15, 3, 12), (6, 3, 3)]
    used = _least_disturbed(marks(windows), BUSY)
    assert (used.wall, used.cpu) == (pytest.approx(3e-3), pytest.approx(3e-3))


def test_waiting_is_seen_beside_threads_that_queue_meanwhile():
    windows = [(9, 0.5, 6), (8.7, 0.5, 0.2), (12, 0.5, 3.5), (15, 0.5, 12)]
    used = _least_disturbed(marks(windows), BUSY)
    assert used.wall == pytest.approx(8.5e-3, abs=1e-3)


def test_steps_count_what_goes_in_and_out():
    pipeline = (
        tf.data.Dataset.range(4096)
        .filter(lambda x: x % 4 == 0)
        .batch(8)
        .unbatch()
        .map(lambda x: tf.fill([3], tf.cast(x, tf.float32)))
        .batch(16)
    )
    chain = chain_of_target(pipeline, "train", None)
    costs, samples = costs_of(chain, 2.0)
    inputs = [
        (step.kind, cost.inputs)
        for step, cost in zip(chain.steps, costs, strict=True)
        if step.kind in ("source", "filter", "batch", "unbatch")
    ]
    kinds = ["source", "filter", "batch", "unbatch", "batch"]
    assert [kind for kind, _ in inputs] == kinds
    numbers = [number for _, number in inputs]
    assert numbers[0] == 0.0
    assert numbers[1] == pytest.approx(4.0, rel=0.5)  # a sample's end may fall between two
    assert numbers[2:] == [8.0, 1 / 8, 16.0]
    assert costs[-1].bytes == 16 * 3 * 4
    assert costs[-1].rows == 16
    assert samples[-1].count >= 1
