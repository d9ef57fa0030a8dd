"""What several calls at once bring, and whether Python's lock is why they bring nothing."""

import hashlib
import os

import pytest
import tensorflow as tf

from benchmarks.profile_cases.work import dataset, locked
from estimator_io.profiling.concurrency import _locked, with_concurrency
from estimator_io.profiling.costs import Cost, Sample
from estimator_io.profiling.crowding import worth_of_cores
from estimator_io.profiling.target import chain_of_target

CORES = len(os.sched_getaffinity(0))


def hashed(x):
    """A map of native code that computes for milliseconds without Python's lock."""
    block = bytes(2 << 20)

    def work(value):
        hashlib.sha256(block)
        return value

    y = tf.numpy_function(work, [x], x.dtype)
    y.set_shape(x.shape)
    return y


def measured(function):
    """Returns the cost of a map behind a source, with what calls at once bring."""
    chain = chain_of_target(dataset().map(function).batch(4), "train", None)
    costs = [
        Cost(0.0, 0.0, 256.0, 0.0, 0.0, 8),
        Cost(0.003, 0.003, 256.0, 1.0, 0.0, 8),
        Cost(0.0, 0.0, 1024.0, 4.0, 0.0, 8),
    ]
    samples = [Sample(dataset(), 512, 0.0)] * 3
    return with_concurrency(chain, costs, samples, CORES, seconds=0.3)


def test_threads_that_hold_the_lock_sleep_and_the_others_queue():
    assert _locked(1.0, calls=4, cores=2) == 1.0
    assert _locked(0.4, calls=4, cores=2) == 1.0
    assert _locked(4.0, calls=4, cores=8) == 0.0
    assert _locked(2.0, calls=4, cores=8) == 0.5


@pytest.mark.skipif(CORES < 2, reason="one core has nothing to share out")
def test_python_code_holds_the_lock_and_native_code_lets_go():
    # A thread that asks for the lock in vain queues for a core first, so a machine with many times
    # more to do than cores may hide the difference once.
    pairs = ((measured(locked(0.003))[1], measured(hashed)[1]) for _ in range(3))
    assert any(python.locked > native.locked for python, native in pairs)


def test_maps_that_wait_are_not_run_again():
    chain = chain_of_target(dataset().map(locked(0.0)).batch(4), "train", None)
    costs = [Cost(0.0, 0.0, 256.0, 0.0, 0.0, 8), Cost(0.01, 0.001, 256.0, 1.0, 0.0, 8)]
    costs.append(Cost(0.0, 0.0, 1024.0, 4.0, 0.0, 8))
    assert with_concurrency(chain, costs, [], CORES, seconds=0.1) == costs


def test_cores_are_worth_one_thread_at_least_and_their_number_at_most():
    assert worth_of_cores(1) == 1.0
    assert 1.0 <= worth_of_cores(CORES) <= CORES
