"""Suggestions do not contradict the pipeline: worked out on figures, without a run."""

import dataclasses

import pytest
import tensorflow as tf

from estimator_io.profiling.chain import Chain
from estimator_io.profiling.changes.elsewhere import service
from estimator_io.profiling.changes.parallel import more_calls, more_files, more_threads
from estimator_io.profiling.context import Measured
from estimator_io.profiling.costs import Cost
from estimator_io.profiling.flow import Flow
from estimator_io.profiling.machine import Machine
from estimator_io.profiling.model import Cores
from estimator_io.profiling.target import chain_of_target

RANGE = tf.data.Dataset.range
MACHINE = Machine.here([])


def measured(dataset, seconds, inputs, *, cpu=0.0):
    """A pipeline whose step of largest cost takes `seconds` of waiting for an element."""
    chain = chain_of_target(dataset, "train", None)
    costs = [
        Cost(each, min(each, cpu), bytes=8.0, inputs=n, first=0.0, elements=64)
        for each, n in zip(seconds, inputs, strict=True)
    ]
    flow = Flow(0, None, None, 0.0, None, (), ())
    return Measured(dataset, chain, costs, [], flow, MACHINE, Cores(2, 2.0), 1e-6, None)


def python_map(x):
    y = tf.numpy_function(lambda value: value, [x], tf.int64)
    y.set_shape([])
    return y


def test_a_full_pool_is_told_of_threads_and_not_of_fewer_calls():
    options = tf.data.Options()
    options.threading.private_threadpool_size = 3
    pipeline = RANGE(64).map(python_map, num_parallel_calls=8).batch(8).with_options(options)
    found = measured(pipeline, [1e-6, 0.003, 0.004], [0.0, 1.0, 8.0])
    assert list(more_calls(found)) == []
    (one,) = more_threads(found)
    assert "the pool has 3, so no more of its 8 calls run at once" in one.reason
    assert 3 < int(one.edit.split("private_threadpool_size = ")[1].split(";")[0]) <= 8


@pytest.mark.parametrize("calls", [None, 2])
def test_an_interleave_keeps_the_files_that_it_has_open(calls):
    pipeline = RANGE(20).interleave(
        lambda x: RANGE(x, x + 50).map(lambda y: y + 1), cycle_length=4, num_parallel_calls=calls
    )
    found = measured(pipeline.batch(8), [1e-6, 0.004, 0.012], [0.0, 1 / 50, 8.0])
    (one,) = more_files(found)
    assert one.edit.startswith("interleave(…, num_parallel_calls=")
    assert ("one at a time" in one.reason) == (calls is None)
    assert "order" not in one.reason


def test_a_flat_map_as_an_interleave_is_told_to_change_the_order():
    pipeline = RANGE(20).flat_map(lambda x: RANGE(x, x + 50)).batch(8)
    (one,) = more_files(measured(pipeline, [1e-6, 0.004, 1e-6], [0.0, 1 / 50, 8.0]))
    assert one.edit == "interleave(…, cycle_length=20, num_parallel_calls=20)"
    assert "changes the order" in one.reason


def test_windows_are_no_files():
    pipeline = RANGE(64).window(4).flat_map(lambda window: window.batch(4))
    found = measured(pipeline, [1e-6, 0.004], [0.0, 1.0])
    assert found.chain.steps[-1].kind == "flat_map"
    assert list(more_files(found)) == []


def test_a_map_that_writes_gets_no_parallel_calls():
    variable = tf.Variable(0, dtype=tf.int64)
    pipeline = RANGE(64).map(lambda x: x + variable.assign_add(1)).batch(8)
    found = measured(pipeline, [1e-6, 0.004, 1e-6], [0.0, 1.0, 8.0])
    assert found.chain.steps[1].writes
    assert list(more_calls(found)) == []
    plain = dataclasses.replace(found.chain.steps[1], writes=False)
    chain = Chain((found.chain.steps[0], plain, found.chain.steps[2]), found.chain.options)
    assert len(list(more_calls(dataclasses.replace(found, chain=chain)))) == 1


@pytest.mark.parametrize(("function", "offered"), [(lambda x: x + 1, 1), (python_map, 0)])
def test_python_functions_do_not_travel_to_a_service(function, offered):
    pipeline = RANGE(64).map(function, num_parallel_calls=2).batch(8)
    found = measured(pipeline, [1e-6, 0.004, 1e-6], [0.0, 1.0, 8.0], cpu=0.004)
    assert len(list(service(found))) == offered


def test_splitting_a_file_costs_what_the_file_takes(tmp_path):
    path = tmp_path / "rows.txt"
    path.write_text("a line\n" * 1000)
    pipeline = tf.data.TextLineDataset([str(path)]).batch(8)
    (one,) = more_files(measured(pipeline, [1e-6, 0.004, 1e-6], [0.0, 1 / 1000, 8.0]))
    assert (one.name, one.disk_bytes) == ("split the file", 7000)
