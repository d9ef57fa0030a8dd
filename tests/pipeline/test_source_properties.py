"""Whatever the source and the options: every row once an epoch, one order, a whole in two parts.

ESTIMATOR_IO_EXAMPLES sets the number of option sets that each property is tried on.
"""

import dataclasses
import itertools
import os

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import estimator_io
from estimator_io.pipeline.build import build_checked
from estimator_io.position.iterator import Beginnings
from estimator_io.position.ledger import Ledger
from estimator_io.position.terms import terms_of

ROWS = 13
EXAMPLES = int(os.environ.get("ESTIMATOR_IO_EXAMPLES", "2"))
few = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize="ESTIMATOR_IO_EXAMPLES" not in os.environ,
    suppress_health_check=list(HealthCheck),
)
KINDS = ["arrays", "pandas", "csv", "csv stream", "text", "parquet", "tfrecord", "generator", "mix"]
OPTIONS = st.fixed_dictionaries(
    {
        "batch_size": st.integers(1, 9),
        "epochs": st.integers(1, 3),
        "seed": st.integers(0, 2**31),
        "shuffle": st.sampled_from([None, True, False, 3, "1MB"]),
        "cache": st.sampled_from([None, "memory"]),
        "prefetch": st.sampled_from([None, 0, 2]),
        "num_parallel_calls": st.sampled_from([None, 1, 3]),
        "interleave": st.sampled_from([1, 16]),
        "augment": st.sampled_from([None, lambda row, seed: row + 0 * seed[0]]),
        "batch_map": st.sampled_from([None, tf.identity]),
    }
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Returns a folder that holds the numbers 0 to 12 in files of every kind, three of each."""
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("numbers")
    for part in range(3):
        numbers = list(range(part, ROWS, 3))
        (path / f"{part}.csv").write_text("n\n" + "".join(f"{n}\n" for n in numbers))
        (path / f"{part}.txt").write_text("".join(f"{n}\n" for n in numbers))
        pyarrow.parquet.write_table(
            pa.table({"n": pa.array(numbers, pa.int64())}), path / f"{part}.parquet", 2
        )
        with tf.io.TFRecordWriter(str(path / f"{part}.tfrecord")) as writer:
            for n in numbers:
                value = tf.train.Feature(int64_list=tf.train.Int64List(value=[n]))
                features = tf.train.Features(feature={"n": value})
                writer.write(tf.train.Example(features=features).SerializeToString())
    return path


def make(kind, folder, options):
    """Returns an input function over 0 to 12 whose rows are int64 scalars."""
    number = {"parse": lambda row: tf.cast(row["n"], tf.int64)}
    if kind == "arrays":
        return estimator_io.input_fn(np.arange(ROWS), **options)
    if kind == "pandas":
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"n": np.arange(ROWS)})
        blind = {"num_epochs": options.pop("epochs"), "shuffle": bool(options["shuffle"])}
        return estimator_io.pandas_input_fn(frame, **{**options, **number, **blind})
    if kind.startswith("csv"):
        stream = kind == "csv stream"
        files = str(folder / "*.csv")
        return estimator_io.csv_input_fn(files, stream=stream, **number, **options)
    if kind == "text":
        parse = {"parse": lambda row: tf.strings.to_number(text_of(row), tf.int64)}
        return estimator_io.text_input_fn(str(folder / "*.txt"), **parse, **options)
    if kind == "parquet":
        return estimator_io.parquet_input_fn(str(folder / "*.parquet"), **number, **options)
    if kind == "tfrecord":
        spec = {"n": tf.io.FixedLenFeature([], tf.int64)}
        return estimator_io.tfrecord_input_fn(str(folder / "*.tfrecord"), spec, **number, **options)
    if kind == "generator":
        return estimator_io.generator_input_fn(lambda: iter(range(ROWS)), **options)
    halves = [np.arange(5), np.arange(5, ROWS)]
    parts = [estimator_io.input_fn(half, batch_size=1) for half in halves]
    return estimator_io.mix(parts, **options)


def text_of(row):
    return row["text"] if isinstance(row, dict) else row


def batches_of(dataset):
    return [batch.tolist() for batch in dataset.as_numpy_iterator()]


def flat(batches):
    return [row for batch in batches for row in batch]


@pytest.mark.parametrize("kind", KINDS)
@few
@given(options=OPTIONS)
def test_every_row_comes_once_an_epoch_in_an_order_that_parallelism_does_not_change(
    folder, kind, options
):
    fn = make(kind, folder, dict(options))
    batches = batches_of(fn("train"))
    rows, epochs = flat(batches), options["epochs"]
    assert sorted(rows) == sorted(list(range(ROWS)) * epochs)
    if kind != "mix":  # whose sources come to their ends at different times
        for epoch in range(epochs):
            assert sorted(rows[epoch * ROWS : (epoch + 1) * ROWS]) == list(range(ROWS))
    assert batches_of(fn.replace()("train")) == batches
    assert batches_of(fn.replace(num_parallel_calls=2, threads=3, prefetch=1)("train")) == batches


@pytest.mark.parametrize("kind", KINDS)
@few
@given(options=OPTIONS, workers=st.integers(2, 4))
def test_shards_share_every_epoch_out(folder, kind, options, workers):
    fn = make(kind, folder, dict(options))
    seen = [flat(batches_of(fn.replace(shard=(at, workers))("train"))) for at in range(workers)]
    assert sorted(flat(seen)) == sorted(list(range(ROWS)) * options["epochs"])
    assert not any(set(one) & set(other) for one, other in itertools.pairwise(seen))


@pytest.mark.parametrize("kind", [kind for kind in KINDS if kind != "pandas"])  # starts over
@few
@given(options=OPTIONS, steps=st.integers(1, 6), later_size=st.integers(1, 9))
def test_what_is_drawn_before_and_after_an_interruption_is_the_whole(
    folder, tmp_path_factory, kind, options, steps, later_size
):
    model_dir = str(tmp_path_factory.mktemp("model"))
    fn = make(kind, folder, {**options, "epochs": None})
    first = batches_of(begun_at(fn, 0, model_dir).take(steps))
    later = batches_of(begun_at(fn.replace(batch_size=later_size), steps, model_dir).take(3))
    rows = [*flat(first), *flat(later)]
    whole = flat(batches_of(fn.replace(batch_size=1)("train").take(len(rows))))
    assert rows == whole


def begun_at(fn, step, model_dir):
    """Returns the pipeline as a session that has restored global step `step` starts it."""
    request = fn.request("train")
    terms = terms_of(fn.source, fn.options, request)
    start = Beginnings(Ledger(model_dir), terms).start(None, lambda: step)
    return build_checked(fn.plan(dataclasses.replace(request, start=start)))


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=st.integers(0, 2**31), cache=st.sampled_from([None, "memory"]))
def test_two_epochs_have_orders_of_their_own(folder, kind, seed, cache):
    options = {"batch_size": ROWS, "epochs": 4, "seed": seed, "cache": cache, "shuffle": True}
    orders = {tuple(batch) for batch in batches_of(make(kind, folder, options)("train"))}
    assert len(orders) >= 3  # two of four alike happen once in 10^9 seeds
