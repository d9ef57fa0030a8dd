"""A store within a pipeline: the same elements in the same order, made once, and mended."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import estimator_io
from estimator_io.store import folder as folders
from estimator_io.store.spec import Codec

HOW = ["eager", "graph"]


@pytest.fixture
def counted(tmp_path):
    """Returns (parse, count): parse multiplies by ten, count says for which rows it ran."""
    log = tmp_path / "log"
    log.touch()
    name = str(log)

    def parse(x):
        def made(value):
            with open(name, "a") as file:
                file.write(f"{value}\n")
            return np.int64(value * 10)

        return tf.ensure_shape(tf.numpy_function(made, [x], tf.int64), [])

    return parse, lambda: collections.Counter(map(int, log.read_text().split()))


def stream():
    return tf.data.Dataset.range(300)


def equal(one, other):
    one, other = (tf.nest.flatten(list(values), expand_composites=True) for values in (one, other))
    assert list(map(repr, one)) == list(map(repr, other))


def components(x):
    count = tf.cast(x % 4, tf.int64)
    return {
        "floats": tf.cast(x, tf.float32) * tf.ones([2, 3]),
        "bits": tf.cast(x, tf.bfloat16),
        "flag": tf.equal(x % 2, 0),
        "text": tf.strings.as_string(x),
        "texts": [tf.strings.as_string(x), "b"],
        "ragged": tf.RaggedTensor.from_row_lengths(tf.range(2 * count), [count, count]),
        "sparse": tf.sparse.from_dense([x, 0, x]),
    }, tf.cast(x, tf.complex64)


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("source", [np.arange(40), lambda: tf.data.Dataset.range(40)])
def test_every_kind_of_component_comes_back_as_it_was(draw, tmp_path, source, how):
    fn = estimator_io.input_fn(source, parse=components, batch_size=8, seed=1)
    expected = draw(lambda: fn("eval"), how)
    for cache in ("memory", str(tmp_path / "c")):
        stored = fn.replace(cache=cache)
        for _ in range(2):
            equal(draw(lambda stored=stored: stored("eval"), how), expected)


def padded(x):
    return {"n": tf.range(tf.cast(x % 5, tf.int64)), "text": tf.fill([x % 3], "ab")}


@pytest.mark.parametrize(
    "options",
    [
        {"parse": padded, "padding": True},
        {"parse": padded, "bucket_boundaries": [2, 4], "element_length": lambda f: tf.size(f["n"])},
        {"parse": lambda x: x * 2, "filter": lambda x: x % 3 > 0},
        {"parse": lambda x: x * 2, "flat_map": lambda x: tf.data.Dataset.range(x, x + 2)},
        {"parse": lambda x: x * 2, "augment": lambda x, seed: x + seed[1]},
        {"parse": lambda x: x * 2, "drop_remainder": True},
    ],
    ids=["padding", "buckets", "filter", "flat_map", "augment", "drop_remainder"],
)
def test_a_cache_changes_neither_order_nor_elements(tmp_path, options):
    fn = estimator_io.input_fn(np.arange(50), batch_size=8, epochs=3, seed=4, **options)
    stored = fn.replace(cache=str(tmp_path / "c"))
    assert stored.element_spec == fn.element_spec
    expected = list(fn("train").as_numpy_iterator())
    for _ in range(2):
        equal(stored("train").as_numpy_iterator(), expected)


def test_more_rows_than_one_look_up_takes_come_in_order(draw, tmp_path):
    fn = estimator_io.input_fn(
        np.arange(5000), parse=lambda x: x + 1, batch_size=48, epochs=1, seed=2
    )
    expected = np.concatenate(draw(lambda: fn("train")))
    stored = fn.replace(cache=str(tmp_path / "c"))
    for _ in range(2):
        assert np.concatenate(draw(lambda: stored("train"))).tolist() == expected.tolist()


@pytest.mark.parametrize("how", HOW)
@pytest.mark.parametrize("kind", ["memory", "folder"])
@pytest.mark.parametrize("source", [np.arange(300), stream], ids=["indexed", "stream"])
def test_what_a_partial_pass_made_is_kept(draw, counted, tmp_path, source, kind, how):
    parse, count = counted
    cache = "memory" if kind == "memory" else str(tmp_path / "c")
    fn = estimator_io.input_fn(source, parse=parse, cache=cache, batch_size=10, seed=3)
    draw(lambda: fn("eval"), how, limit=15)
    after = sum(count().values())
    assert 150 <= after < 300 or source is stream
    for _ in range(2):
        got = np.concatenate(draw(lambda: fn("eval"), how))
        assert got.tolist() == [10 * i for i in range(300)]
    # Two blocks may have been on their way when the first pass was given up.
    assert sum(count().values()) <= 300 + 2 * 64
    assert set(count()) == set(range(300))


def test_training_and_evaluation_share_rows_whatever_the_order(draw, counted, tmp_path):
    parse, count = counted
    fn = estimator_io.input_fn(
        np.arange(300), parse=parse, cache=str(tmp_path / "c"), batch_size=7, epochs=2, seed=3
    )
    rows = np.concatenate(draw(lambda: fn("train")))
    assert sorted(rows.tolist()) == sorted(2 * [10 * i for i in range(300)])
    assert rows[:300].tolist() != rows[300:].tolist()
    assert np.concatenate(draw(lambda: fn("eval"))).tolist() == [10 * i for i in range(300)]
    assert count() == dict.fromkeys(range(300), 1)


@pytest.mark.parametrize("source", [np.arange(300), stream], ids=["indexed", "stream"])
def test_a_damaged_row_is_made_anew(draw, counted, tmp_path, source):
    parse, count = counted
    fn = estimator_io.input_fn(source, parse=parse, cache=str(tmp_path / "c"), batch_size=10)
    draw(lambda: fn("eval"))
    from estimator_io.store import generation

    (opened,) = [o for o in generation._OPEN.values() if o.folder == str(tmp_path / "c")]
    opened.rows.flush()
    opened.rows._checked[:] = False  # as a process that has not read it yet
    opened.rows._slots[0][[5, 250]] ^= 255
    before = count()
    assert np.concatenate(draw(lambda: fn("eval"))).tolist() == [10 * i for i in range(300)]
    assert count() - before == {5: 1, 250: 1}
    assert opened.rows.counts.damaged == 2


def test_augmentation_differs_from_epoch_to_epoch_and_parse_runs_once(draw, counted, tmp_path):
    parse, count = counted
    fn = estimator_io.input_fn(
        np.arange(20), parse=parse, cache=str(tmp_path / "c"), batch_size=20, epochs=2, seed=1,
        augment=lambda x, seed: x + tf.random.stateless_uniform([], seed, 0, 9, tf.int64),
        shuffle=False,
    )  # fmt: skip
    one, two = draw(lambda: fn("train"))
    assert (one // 10).tolist() == (two // 10).tolist() == list(range(20))
    assert one.tolist() != two.tolist()
    assert count() == dict.fromkeys(range(20), 1)


def test_shards_share_one_store_and_read_their_own_rows(draw, counted, tmp_path):
    parse, _ = counted
    fn = estimator_io.input_fn(
        np.arange(30), parse=parse, cache=str(tmp_path / "c"), batch_size=4, seed=1
    )
    got = []
    for index in range(2):
        context = tf.distribute.InputContext(2, index, 2)
        got += np.concatenate(draw(lambda c=context: fn("eval", input_context=c))).tolist()
    assert sorted(got) == [10 * i for i in range(30)]
    assert len(folders.generations(str(tmp_path / "c"))) == 1


def test_arrays_as_they_are_need_no_cache(tmp_path):
    fn = estimator_io.input_fn(np.arange(3), cache=str(tmp_path / "c"), batch_size=3)
    assert "unused" in repr(fn)
    assert [b.tolist() for b in fn("eval").as_numpy_iterator()] == [[0, 1, 2]]
    assert not (tmp_path / "c").exists()


def test_what_is_no_tensor_is_refused(tmp_path):
    fn = estimator_io.input_fn(
        np.arange(3), parse=tf.data.Dataset.range, cache="memory", batch_size=1
    )
    with pytest.raises((estimator_io.StoreError, estimator_io.StructureError)):
        fn("eval")


numbers = st.sampled_from(["bool", "uint8", "int64", "float16", "bfloat16", "float64", "string"])
leaves = st.tuples(numbers, st.lists(st.integers(0, 3), max_size=2), st.booleans())


@settings(max_examples=20, deadline=None, suppress_health_check=list(HealthCheck))
@given(st.dictionaries(st.sampled_from("abcd"), leaves, min_size=1), st.integers(0, 1000))
def test_random_elements_survive_the_way_through_rows(structure, seed):
    generator = np.random.default_rng(seed)
    element, spec = {}, {}
    for key, (dtype, shape, known) in structure.items():
        values = generator.integers(0, 2, shape)
        dtype = tf.as_dtype(dtype)
        tensor = tf.constant(values)
        element[key] = (
            tf.strings.as_string(tensor) if dtype == tf.string else tf.cast(tensor, dtype)
        )
        spec[key] = tf.TensorSpec(shape if known else [None] * len(shape), dtype)
    codec = Codec(spec)
    found = codec.to_element(codec.to_row(element))
    for key, value in element.items():
        assert found[key].dtype == value.dtype
        np.testing.assert_array_equal(found[key].numpy(), value.numpy())
