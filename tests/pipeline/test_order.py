"""Order is a function of (seed, epoch, position): uniform, repeatable, the same everywhere."""

import collections
import math
import textwrap

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.ops import order
from tests import forks

HOW = ["eager", "graph"]


def make(n=20, **options):
    options = {"batch_size": 4, "seed": 5, **options}
    return estimator_io.input_fn(np.arange(n), **options)


def flat(batches):
    return [int(row) for batch in batches for row in batch]


@pytest.mark.parametrize("how", HOW)
def test_each_epoch_holds_every_row_once_in_an_order_of_its_own(draw, how):
    fn = make(epochs=3)
    rows = flat(draw(lambda: fn("train"), how))
    epochs = [tuple(rows[at : at + 20]) for at in (0, 20, 40)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(20))] * 3
    assert len(set(epochs)) == 3


def test_the_order_is_the_same_at_any_parallelism_in_graph_and_eager_mode(draw):
    def slow_for_some(x):
        return (
            tf.cast(tf.reduce_sum(tf.random.stateless_normal([(x % 3) * 20_000], [1, 2])), x.dtype)
            * 0
            + x
        )

    orders = set()
    for calls in (None, 1, 7):
        for threads in (1, 16):
            fn = make(epochs=2, parse=slow_for_some, num_parallel_calls=calls, threads=threads)
            for how in HOW:
                orders.add(tuple(flat(draw(lambda fn=fn: fn("train"), how))))
    assert len(orders) == 1


def test_another_seed_gives_another_order_and_the_same_seed_the_same(draw):
    first, again, other = (
        flat(draw(lambda s=s: make(seed=s, epochs=1)("train"))) for s in (1, 1, 2)
    )
    assert first == again
    assert first != other


def test_a_drawn_seed_is_kept_by_copies_and_shown():
    fn = estimator_io.input_fn(np.arange(50), batch_size=50)
    copy = fn.replace(prefetch=1)
    assert copy.seed == fn.seed
    assert f"seed {fn.seed}" in repr(fn)
    one, two = (next(f.dataset("train").as_numpy_iterator()).tolist() for f in (fn, copy))
    assert one == two


def test_a_seed_of_the_whole_program_does_not_change_the_order(draw):
    orders = set()
    for program_seed in (1, 2):
        for cache in (None, "memory"):

            def build(program_seed=program_seed, cache=cache):
                tf.compat.v1.set_random_seed(program_seed)
                return make(epochs=2, cache=cache)("train")

            orders.add(tuple(flat(draw(build, "graph"))))
    assert len(orders) == 1  # nor does a cache


@pytest.mark.parametrize("mode", ["eval", "infer"])
@pytest.mark.parametrize("how", HOW)
def test_evaluation_and_prediction_read_once_in_order_and_keep_the_tail(draw, mode, how):
    fn = make(n=10, drop_remainder=True, epochs=5)
    assert [b.tolist() for b in draw(lambda: fn(mode), how)] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]


def test_endless_training_goes_on(draw):
    rows = flat(draw(lambda: make(n=3)("train"), limit=30))
    assert collections.Counter(rows) == {0: 40, 1: 40, 2: 40}


def test_batches_run_across_epochs(draw):
    batches = draw(lambda: make(n=5, epochs=2, batch_size=4)("train"))
    assert [len(batch) for batch in batches] == [4, 4, 2]


@pytest.mark.parametrize("n", [2, 3, 4, 5])
def test_orders_of_few_rows_are_uniform_over_all_permutations(n):
    """Pearson's chi-squared against n! equally likely orders, over seeds and over epochs."""
    draws = 400 * math.factorial(n) if n < 5 else 6000
    draw = tf.function(
        lambda seeds: tf.map_fn(
            lambda pair: tf.argsort(
                tf.random.stateless_uniform(
                    [n], seed=pair, minval=None, maxval=None, dtype=tf.int64, alg="philox"
                )
            ),
            seeds,
            fn_output_signature=tf.int32,
        )
    )
    pairs = np.stack([np.arange(draws) % 20, np.arange(draws) // 20], 1)
    ours = [order.permutation(int(e), size=n, seed=int(s)).numpy().tolist() for s, e in pairs[:20]]
    orders = draw(pairs).numpy()
    assert orders[:20].tolist() == ours  # the fast way to draw many is the function under test
    counts = collections.Counter(map(tuple, orders.tolist()))
    expected = draws / math.factorial(n)
    statistic = sum((counts[p] - expected) ** 2 / expected for p in counts)
    statistic += expected * (math.factorial(n) - len(counts))
    freedom = math.factorial(n) - 1
    assert abs(statistic - freedom) < 5 * math.sqrt(2 * freedom) + 5


@pytest.mark.parametrize("n", [10, 1000])
def test_every_row_is_equally_likely_at_every_place(n):
    draws = 3000 if n == 10 else 300

    @tf.function
    def first(epochs):
        return tf.map_fn(lambda epoch: order.permutation(epoch, size=n, seed=3)[0], epochs)

    firsts = collections.Counter(
        (first(tf.range(draws, dtype=tf.int64)).numpy() * 10 // n).tolist()
    )
    expected = draws / 10
    statistic = sum((firsts[tenth] - expected) ** 2 / expected for tenth in range(10))
    assert statistic < 9 + 5 * math.sqrt(18) + 5


def test_large_sources_are_ordered_row_by_row_without_a_permutation(monkeypatch):
    monkeypatch.setattr(order, "EXPLICIT_PERMUTATION_ROWS", 100)
    orders = [[int(i) for i in order.epoch_order(epoch, size=5000, seed=1)] for epoch in range(2)]
    assert [sorted(o) for o in orders] == [list(range(5000))] * 2
    assert orders[0] != orders[1]
    displaced = np.corrcoef(orders[0], np.arange(5000))[0, 1]
    assert abs(displaced) < 0.1


def test_a_hundred_million_rows_begin_at_once(draw):
    column = np.broadcast_to(np.float32(7), (100_000_000,))
    fn = estimator_io.input_fn({"x": column}, batch_size=8, seed=1)
    (batch,) = draw(lambda: fn("train"), "graph", limit=1)
    assert batch["x"].tolist() == [7.0] * 8


@pytest.mark.parametrize("cache", [None, "memory"])
def test_shards_are_disjoint_and_complete(draw, cache):
    class Context:
        num_input_pipelines = 3

        def __init__(self, index):
            self.input_pipeline_id = index

        def get_per_replica_batch_size(self, size):
            return size

    fn = make(n=20, epochs=1, cache=cache)
    for mode in ("train", "eval"):
        parts = [flat(draw(lambda i=i, m=mode: fn(m, None, None, Context(i)))) for i in range(3)]
        assert sorted(row for part in parts for row in part) == list(range(20))


@pytest.mark.parametrize("how", HOW)
def test_a_stream_is_shuffled_through_its_buffer_differently_in_each_epoch(draw, how):
    fn = estimator_io.input_fn(
        lambda: tf.data.Dataset.range(30), batch_size=30, epochs=3, seed=1, shuffle=10
    )
    epochs = [tuple(batch.tolist()) for batch in draw(lambda: fn("train"), how)]
    assert [sorted(epoch) for epoch in epochs] == [list(range(30))] * 3
    assert len(set(epochs)) == 3
    # The k-th row out of a buffer of 10 is among the first k + 10 rows.
    assert all(row < place + 10 for epoch in epochs for place, row in enumerate(epoch))


def test_behaviour_version_one_gives_the_same_rows_in_the_same_order(draw):
    """Legacy programs call disable_v2_behavior(), which cannot be undone in this process."""
    code = """
        import numpy as np, tensorflow as tf, estimator_io
        tf.compat.v1.disable_v2_behavior()
        for cache in (None, "memory"):
            fn = estimator_io.input_fn(
                np.arange(20), batch_size=4, seed=5, epochs=2, cache=cache,
                augment=lambda x, seed: x * 1000 + tf.random.stateless_uniform(
                    [], seed, 0, 1000, tf.int64),
            )
            iterator = tf.compat.v1.data.make_one_shot_iterator(fn("train"))
            batch, rows = iterator.get_next(), []
            with tf.compat.v1.Session() as session:
                for _ in range(10):
                    rows += session.run(batch).tolist()
            print(rows)
    """
    done = forks.run(["-c", textwrap.dedent(code)])
    assert done.returncode == 0, done.stderr
    expected = []
    for cache in (None, "memory"):
        fn = make(
            epochs=2,
            cache=cache,
            augment=lambda x, seed: (
                x * 1000 + tf.random.stateless_uniform([], seed, 0, 1000, tf.int64)
            ),
        )
        expected.append(str(flat(draw(lambda fn=fn: fn("train")))))
    assert done.stdout.splitlines() == expected
