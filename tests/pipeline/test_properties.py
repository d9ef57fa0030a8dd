"""Whatever options are accepted: every row once an epoch, in an order that the seed decides."""

import collections

import numpy as np
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import estimator_io

OPTIONS = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 9),
        "epochs": st.integers(1, 3),
        "seed": st.integers(0, 2**31),
        "shuffle": st.sampled_from([None, True, False, 1, 3]),
        "cache": st.sampled_from([None, "memory"]),
        "prefetch": st.sampled_from([None, 0, 2]),
        "num_parallel_calls": st.sampled_from([None, 1, 3]),
        "threads": st.sampled_from([None, 2]),
        "parse": st.sampled_from([None, lambda x: x]),
        "augment": st.sampled_from([None, lambda x, seed: x + 0 * seed[0]]),
    }
)
ROWS = st.integers(1, 25)
KINDS = st.sampled_from(["array", "function"])
few = settings(max_examples=10, deadline=None, suppress_health_check=list(HealthCheck))


def make(kind, rows, options):
    source = np.arange(rows) if kind == "array" else lambda: tf.data.Dataset.range(rows)
    return estimator_io.input_fn(source, **options)


def flat(dataset):
    return [int(row) for batch in dataset.as_numpy_iterator() for row in batch]


@few
@given(kind=KINDS, rows=ROWS, options=OPTIONS)
def test_every_row_comes_once_an_epoch_and_once_in_evaluation(kind, rows, options):
    fn = make(kind, rows, options)
    seen = flat(fn("train"))
    for epoch in range(options["epochs"]):
        assert sorted(seen[epoch * rows : (epoch + 1) * rows]) == list(range(rows))
    assert len(seen) == rows * options["epochs"]
    assert flat(fn("eval")) == list(range(rows))


@few
@given(kind=KINDS, rows=ROWS, options=OPTIONS, calls=st.integers(1, 5))
def test_parallelism_and_copies_do_not_change_the_batches(kind, rows, options, calls):
    fn = make(kind, rows, options)
    batches = [batch.tolist() for batch in fn("train").as_numpy_iterator()]
    for other in (fn.replace(), fn.replace(num_parallel_calls=calls, threads=calls, prefetch=1)):
        assert [batch.tolist() for batch in other("train").as_numpy_iterator()] == batches


@few
@given(kind=KINDS, rows=st.integers(4, 25), options=OPTIONS, workers=st.integers(1, 4))
def test_workers_share_out_the_rows_of_each_epoch(kind, rows, options, workers):
    fn = make(kind, rows, {**options, "batch_size": 1})
    counts = collections.Counter()
    for worker in range(workers):
        context = tf.distribute.InputContext(num_input_pipelines=workers, input_pipeline_id=worker)
        counts.update(flat(fn("train", None, None, context)))
    assert counts == dict.fromkeys(range(rows), options["epochs"])
