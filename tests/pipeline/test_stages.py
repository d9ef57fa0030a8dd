"""Each stage against values worked out in NumPy or by hand, eagerly and in a graph."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import estimator_io

HOW = ["eager", "graph"]
ROWS = np.arange(10)


def make(source=ROWS, **options):
    options = {"batch_size": 4, "seed": 5, "epochs": 1, "shuffle": False, **options}
    return estimator_io.input_fn(source, **options)


def lists(batches):
    return [np.asarray(batch).tolist() for batch in batches]


def node_ops(dataset_fn):
    """Names of all ops in the graph of a pipeline, those inside its functions included."""
    with tf.Graph().as_default() as graph:
        dataset_fn()
        definition = graph.as_graph_def()
    ops = [node.op for node in definition.node]
    return ops + [node.op for f in definition.library.function for node in f.node_def]


@pytest.mark.parametrize("how", HOW)
def test_parse_filter_and_flat_map_run_in_that_order(draw, how):
    fn = make(
        flat_map=lambda x: tf.data.Dataset.from_tensors(x).repeat(2),
        filter=lambda x: tf.equal(x % 4, 0),
        parse=lambda x: x * 2,
    )
    # parse: 0 2 4 … 18; filter keeps 0 4 8 12 16; flat_map doubles each row.
    assert lists(draw(lambda: fn("train"), how)) == [[0, 0, 4, 4], [8, 8, 12, 12], [16, 16]]


@pytest.mark.parametrize("how", HOW)
def test_stages_run_in_one_order_whatever_order_they_are_written_in(draw, how):
    stages = {
        "parse": lambda x: x + 1,
        "filter": lambda x: x > 2,
        "augment": lambda x: x * 10,
        "batch_map": lambda x: x + 5,
    }
    one = make(**stages)
    other = make(**dict(reversed(stages.items())))
    expected = [[35, 45, 55, 65], [75, 85, 95, 105]]
    assert lists(draw(lambda: one("train"), how)) == expected
    assert lists(draw(lambda: other("train"), how)) == expected


@pytest.mark.parametrize("how", HOW)
def test_augmentation_happens_in_training_alone_and_batch_map_always(draw, how):
    fn = make(augment=lambda x: x + 100, batch_augment=lambda x: x + 1000, batch_map=lambda x: -x)
    assert lists(draw(lambda: fn("train"), how))[0] == [-1100, -1101, -1102, -1103]
    assert lists(draw(lambda: fn("eval"), how))[0] == [0, -1, -2, -3]


def noise(x, seed):
    return x + tf.random.stateless_uniform(tf.shape(x), seed, 0, 1_000_000, tf.int64)


@pytest.mark.parametrize("stage", ["augment", "batch_augment", "batch_map"])
@pytest.mark.parametrize("how", HOW)
def test_a_seeded_function_repeats_exactly_and_differs_from_row_to_row_and_epoch(draw, stage, how):
    fn = make(np.zeros(6, np.int64), epochs=2, batch_size=3, **{stage: noise})
    first = lists(draw(lambda: fn("train"), how))
    assert lists(draw(lambda: fn("train"), how)) == first
    values = [value for batch in first for value in batch]
    assert len(set(values)) == 12
    other = make(np.zeros(6, np.int64), epochs=2, batch_size=3, seed=6, **{stage: noise})
    assert not set(values) & {v for b in lists(draw(lambda: other("train"), how)) for v in b}


def test_workers_get_different_seeds(draw):
    fn = make(np.zeros(8, np.int64), augment=noise)
    seen = set()
    for worker in range(2):
        context = tf.distribute.InputContext(num_input_pipelines=2, input_pipeline_id=worker)
        rows = draw(lambda c=context: fn("train", None, None, c))
        seen.update(value for batch in rows for value in batch.tolist())
    assert len(seen) == 8


def test_one_padding_value_serves_rows_of_mixed_dtypes(draw):
    fn = make(
        np.arange(1, 3),
        parse=lambda n: ({"x": tf.fill([n], 1.5), "t": tf.fill([n], "a")}, tf.fill([n], n)),
        padding=True,
        padding_values=-1,
    )
    ((features, labels),) = draw(lambda: fn("eval"))
    assert features["x"].tolist() == [[1.5, -1.0], [1.5, 1.5]]
    assert features["t"].tolist() == [[b"a", b""], [b"a", b"a"]]
    assert labels.tolist() == [[1, -1], [2, 2]]


def test_rows_may_overtake_each_other_where_that_is_allowed():
    def maps(fn):
        with tf.Graph().as_default() as graph:
            fn("eval")
            nodes = graph.as_graph_def().node
        return {n.attr["deterministic"].s for n in nodes if "ParallelMap" in n.op}

    assert maps(make(parse=lambda x: x, deterministic=False)) >= {b"false"}
    assert maps(make(parse=lambda x: x)) == {b"true"}


def test_two_seeded_stages_get_different_seeds(draw):
    fn = make(
        np.zeros(3, np.int64),
        batch_size=1,
        augment=lambda x, seed: tf.reduce_sum(seed),
        batch_augment=lambda x, seed: tf.concat([x, [tf.reduce_sum(seed)]], 0),
    )
    for row, batch in lists(draw(lambda: fn("train"))):
        assert row != batch


def test_a_partial_with_its_own_seed_gets_no_other(draw):
    fn = make(augment=functools.partial(lambda x, seed: x + seed, seed=3))
    assert lists(draw(lambda: fn("train")))[0] == [3, 4, 5, 6]


@pytest.mark.parametrize("cache", ["memory", "folder"])
@pytest.mark.parametrize("how", HOW)
def test_a_cached_parse_runs_once_a_row_while_order_and_augmentation_change(
    draw, how, cache, tmp_path
):
    count = tmp_path / "parsed"

    def parse(x):
        def note(value):
            with count.open("a") as file:
                file.write("x")
            return value

        return tf.ensure_shape(tf.numpy_function(note, [x], tf.int64), [])

    fn = make(
        np.arange(10) * 10_000_000,
        parse=parse,
        cache="memory" if cache == "memory" else str(tmp_path / "cache"),
        epochs=3,
        shuffle=True,
        batch_size=10,
        augment=noise,
    )
    epochs = lists(draw(lambda: fn("train"), how))
    assert len(count.read_text()) == 10
    rows = [[value // 10_000_000 for value in epoch] for epoch in epochs]
    assert [sorted(epoch) for epoch in rows] == [list(range(10))] * 3
    assert len({tuple(epoch) for epoch in rows}) == 3
    assert len({tuple(sorted(epoch)) for epoch in epochs}) == 3  # the noise differs too


def test_the_first_epoch_over_a_memory_cache_is_shuffled_without_filling_a_buffer(draw, tmp_path):
    count = tmp_path / "parsed"
    count.touch()

    def parse(x):
        def note(value):
            with count.open("a") as file:
                file.write("x")
            return value

        return tf.ensure_shape(tf.numpy_function(note, [x], tf.int64), [])

    options = {"shuffle": True, "batch_size": 1, "prefetch": 0, "num_parallel_calls": 1}
    fn = make(np.arange(1000), parse=parse, cache="memory", **options)
    (first,) = draw(lambda: fn("train"), limit=1)
    assert len(count.read_text()) < 100
    assert first.tolist() != [0]


@pytest.mark.parametrize("how", HOW)
def test_rows_of_uneven_length_are_padded_to_the_longest_of_their_batch(draw, how):
    fn = make(
        np.arange(1, 5),
        parse=lambda n: ({"x": tf.fill([n], n)}, n),
        padding=True,
        batch_size=2,
    )
    batches = draw(lambda: fn("eval"), how)
    assert lists(b[0]["x"] for b in batches) == [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]


def test_padding_goes_to_given_shapes_with_given_values(draw):
    fn = make(
        np.arange(1, 3),
        parse=lambda n: tf.fill([n], n),
        padding=(3,),
        padding_values=tf.constant(-1, tf.int64),
    )
    assert lists(draw(lambda: fn("eval"))) == [[[1, -1, -1], [2, 2, -1]]]


@pytest.mark.parametrize("how", HOW)
def test_batches_by_length_hold_rows_of_one_bucket_and_lose_none(draw, how):
    lengths = np.array([1, 9, 2, 8, 3, 7, 4, 6])
    fn = make(
        lengths,
        parse=lambda n: ({"x": tf.fill([n], n)}, n),
        bucket_boundaries=[5],
        bucket_batch_sizes=[2, 3],
        batch_size=None,
    )
    batches = draw(lambda: fn("eval"), how)
    found = [sorted(labels.tolist()) for _, labels in batches]
    assert sorted(n for batch in found for n in batch) == sorted(lengths)
    assert all(max(batch) < 5 or min(batch) >= 5 for batch in found)
    assert all(len(b) <= (2 if max(b) < 5 else 3) for b in found)
    assert all(f["x"].shape[1] == max(labels) for f, labels in batches)


def test_batches_by_length_compare_the_length_that_is_asked_for(draw):
    fn = make(
        np.arange(8),
        parse=lambda n: {"a": tf.zeros([3]), "n": n},
        element_length=lambda row: tf.cast(row["n"], tf.int32),
        bucket_boundaries=[4],
        batch_size=4,
    )
    assert lists(b["n"] for b in draw(lambda: fn("eval"))) == [[0, 1, 2, 3], [4, 5, 6, 7]]


def test_drop_remainder_drops_in_training_alone(draw):
    fn = make(drop_remainder=True)
    assert [len(b) for b in draw(lambda: fn("train"))] == [4, 4]
    assert [len(b) for b in draw(lambda: fn("eval"))] == [4, 4, 2]
    assert fn.spec("train").shape.as_list() == [4]


def test_a_pipeline_of_tensorflow_operations_calls_no_python():
    fn = estimator_io.audio_input_fn(
        "examples/data/spoken/**/*.wav",
        length=4000,
        batch_size=8,
        filter=lambda f, label: label < 4,
        augment=lambda f, label, seed: (
            {"audio": f["audio"] * tf.random.stateless_uniform([], seed)},
            label,
        ),
        batch_map=lambda f, label: ({"audio": f["audio"] * 2}, label),
    )
    for mode in ("train", "eval"):
        ops = node_ops(lambda mode=mode: fn(mode))
        assert "DecodeWav" in ops
        assert not [op for op in ops if "PyFunc" in op]


def test_large_arrays_are_taken_by_one_call_a_batch_outside_the_graph():
    big = np.zeros((50_000, 25), np.float32)
    fn = make(({"x": big}, np.zeros(50_000)), batch_size=100)
    ops = node_ops(lambda: fn("train"))
    assert len([op for op in ops if "PyFunc" in op]) == 1
    with tf.Graph().as_default() as graph:
        fn("train")
        assert graph.as_graph_def().ByteSize() < 20_000


@pytest.mark.parametrize("size", [10, 100_000])
@pytest.mark.parametrize("how", HOW)
def test_nested_arrays_of_every_kind_come_back_as_they_were(draw, how, size):
    source = (
        {
            "float": np.arange(size, dtype=np.float32).reshape(-1, 1),
            "text": np.array([f"r{i}" for i in range(size)]),
            "bool": np.arange(size) % 3 == 0,
        },
        {"half": np.arange(size).astype(np.float16), "small": np.arange(size).astype(np.uint8)},
    )
    fn = make(source, batch_size=size)
    ((features, labels),) = draw(lambda: fn("eval"), how)
    assert features["text"].tolist() == [t.encode() for t in source[0]["text"]]
    for name in ("float", "bool"):
        np.testing.assert_array_equal(features[name], source[0][name])
    for name in ("half", "small"):
        np.testing.assert_array_equal(labels[name], source[1][name])
        assert labels[name].dtype == source[1][name].dtype


def test_autograph_still_converts_the_functions_of_the_user(draw):
    def parse(x):
        if x > 5:
            return x
        return -x

    def augment(x, seed):
        if x > 0:
            return x + 0 * seed[0]
        return x

    fn = make(parse=parse, augment=augment)
    assert [v for b in lists(draw(lambda: fn("train"))) for v in b] == [
        0,
        -1,
        -2,
        -3,
        -4,
        -5,
        6,
        7,
        8,
        9,
    ]


def test_element_length_may_branch_on_the_values_of_a_row(draw):
    def doubled_if_long(row):
        length = tf.shape(row["x"])[0]
        if length > 3:
            length = length * 2
        return length

    fn = estimator_io.input_fn(
        lambda: tf.data.Dataset.range(1, 7).map(lambda n: {"x": tf.range(n), "n": n}),
        bucket_boundaries=[3, 9],
        element_length=doubled_if_long,
        batch_size=2,
    )
    for how in ("eager", "graph"):
        batches = draw(lambda: fn("eval"), how)
        # lengths 1, 2 | 3, 8 (of 4) | 10, 12 (of 5 and 6)
        assert sorted(sorted(batch["n"].tolist()) for batch in batches) == [[1, 2], [3, 4], [5, 6]]
