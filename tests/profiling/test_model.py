"""The model of what runs beside what, on figures worked out by hand."""

import dataclasses

import pytest
import tensorflow as tf

from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.costs import Cost, elements_per_batch, within
from estimator_io.profiling.model import Cores, parts_of


def cost(seconds=0.0, cpu=None, inputs=1.0, **more):
    cpu = seconds if cpu is None else cpu
    return Cost(seconds, cpu, bytes=4.0, inputs=inputs, first=0.0, elements=8, **more)


def step(kind, **fields):
    return Step(fields.pop("stage", kind), kind, lambda before: before, **fields)


def chain(*steps, threads=None, rewritten=True):
    options = tf.data.Options()
    if threads:
        options.threading.private_threadpool_size = threads
    return Chain(steps, options, rewritten)


def limit(pipeline, costs, cores=4, worth=None):
    part = parts_of(pipeline, costs, Cores(cores, worth or cores))[0]
    return part.kind, pytest.approx(part.seconds), pipeline.steps[part.shares[0][0]].stage


def test_elements_are_counted_from_the_batch_back():
    costs = [cost(), cost(inputs=2.0), cost(inputs=16.0), cost()]
    assert elements_per_batch(costs) == [32.0, 16.0, 1.0, 1.0]


def test_steps_of_one_thread_add_up():
    pipeline = chain(step("source"), step("map", stateful=True), step("batch"))
    costs = [cost(0.001), cost(0.004, cpu=0.0), cost(0.02, inputs=10)]
    assert limit(pipeline, costs) == ("thread", 10 * 0.001 + 10 * 0.004 + 0.02, "map")


def test_a_prefetch_parts_two_threads():
    pipeline = chain(step("source"), step("prefetch"), step("batch"))
    costs = [cost(0.004), cost(), cost(0.03, inputs=10)]
    assert limit(pipeline, costs) == ("thread", 0.04, "source")


def test_calls_divide_what_waits():
    pipeline = chain(step("source"), step("map", calls=4, stateful=True), step("batch"), threads=64)
    costs = [cost(), cost(0.008, cpu=0.0), cost(inputs=10)]
    assert limit(pipeline, costs) == ("calls", 10 * 0.008 / 4, "map")


def test_the_pool_bounds_the_calls_of_autotune():
    pipeline = chain(step("source"), step("map", calls=-1), step("batch"), threads=16)
    costs = [cost(), cost(0.008, cpu=0.0), cost(inputs=10)]
    assert limit(pipeline, costs) == ("pool", 10 * 0.008 / 16, "map")
    narrow = dataclasses.replace(pipeline, options=tf.data.Options())
    assert limit(narrow, costs, cores=2) == ("pool", 10 * 0.008 / 2, "map")


def test_tensorflow_makes_a_pure_map_parallel_and_no_other():
    costs = [cost(), cost(0.008), cost(inputs=10)]
    pure = chain(step("source"), step("map"), step("batch"))
    assert parts_of(pure, costs, Cores(4, 4))[0].kind in ("pool", "cores")
    stateful = chain(step("source"), step("map", stateful=True), step("batch"))
    assert limit(stateful, costs)[0] == "thread"
    as_written = dataclasses.replace(pure, rewritten=False)
    assert limit(as_written, costs)[0] == "thread"


def test_python_code_shares_one_lock_unless_it_lets_go():
    pipeline = chain(
        step("source"), step("map", calls=8, python=True, stateful=True), step("batch"), threads=64
    )
    costs = [cost(), cost(0.004), cost(inputs=10)]
    assert limit(pipeline, costs) == ("lock", 0.04, "map")
    costs[1] = cost(0.004, locked=0.0)
    assert limit(pipeline, costs) == ("cores", 0.01, "map")
    costs[1] = cost(0.004, locked=0.75)
    assert limit(pipeline, costs) == ("lock", 0.03, "map")


def test_cores_count_for_what_they_are_worth():
    pipeline = chain(step("source"), step("map", calls=8), step("batch"), threads=64)
    costs = [cost(0.001), cost(0.004), cost(inputs=10)]
    assert limit(pipeline, costs, worth=2.5) == ("cores", 10 * 0.005 / 2.5, "map")


def test_calls_bring_no_more_than_they_were_measured_to():
    pipeline = chain(step("source"), step("map", calls=8), step("batch"), threads=64)
    costs = [cost(), cost(0.004, speedup=1.25), cost(inputs=10)]
    assert limit(pipeline, costs) == ("scaling", 10 * 0.004 / 1.25, "map")
    costs[1] = cost(0.004, speedup=3.2)  # nearly what four cores are worth
    assert limit(pipeline, costs) == ("cores", 10 * 0.004 / 3.2, "map")
    serial = chain(step("source"), step("map", stateful=True), step("batch"))
    assert limit(serial, costs) == ("thread", 10 * 0.004, "map")


def test_a_lock_is_named_where_calls_of_python_bring_nothing():
    python = step("map", calls=8, python=True, stateful=True)
    pipeline = chain(step("source"), python, step("batch"), threads=64)
    costs = [cost(), cost(0.004, speedup=0.8, locked=1.0), cost(inputs=10)]
    assert limit(pipeline, costs) == ("lock", 10 * 0.004 / 0.8, "map")


def test_an_interleave_has_no_more_calls_than_files_open():
    pipeline = chain(step("source"), step("interleave", calls=16, size=2), step("batch"))
    costs = [cost(), cost(0.004, cpu=0.0, inputs=0.01), cost(inputs=10)]
    assert limit(pipeline, costs) == ("calls", 10 * 0.004 / 2, "interleave")


def test_steps_use_no_more_of_the_processor_than_the_whole_did():
    costs = [cost(0.002), cost(0.006, cpu=0.002), cost(inputs=10)]
    held = within(costs, 0.02)  # 10 * 0.002 + 10 * 0.002 are twice as much
    assert held[0].cpu == pytest.approx(0.001)
    assert held[1].seconds == pytest.approx(0.004 + 0.001)
    assert within(costs, 1.0) == costs
    assert within(costs, None) == costs
