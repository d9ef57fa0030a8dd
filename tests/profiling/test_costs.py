"""What steps take and hand on, on pipelines whose numbers are known."""

import dataclasses

import pytest
import tensorflow as tf

from estimator_io.profiling.costs import costs_of
from estimator_io.profiling.target import chain_of_target


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


def test_an_operation_gets_the_threads_that_tensorflow_gives_it_in_pipelines():
    chain = chain_of_target(tf.data.Dataset.range(2), "train", None)
    assert chain.intra_op == 1
    assert dataclasses.replace(chain, rewritten=False).intra_op is None
    options = tf.data.Options()
    options.threading.max_intra_op_parallelism = 3
    assert dataclasses.replace(chain, options=options).intra_op == 3
