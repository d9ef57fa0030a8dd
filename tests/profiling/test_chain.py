"""A Dataset taken apart and put together again gives the same elements, and tells what is in it."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io.errors import OptionError
from estimator_io.profiling.target import chain_of_target
from tests import forks

RANGE = tf.data.Dataset.range


def python_map(x):
    y = tf.numpy_function(lambda v: v + 1, [x], tf.int64)
    y.set_shape([])
    return y


PIPELINES = {
    "maps": lambda: RANGE(8).map(lambda x: x * 2).map(lambda x: x + 1, num_parallel_calls=3),
    "python": lambda: RANGE(8).map(python_map).batch(4),
    "filter": lambda: RANGE(8).filter(lambda x: x % 2 == 0).batch(2, drop_remainder=True),
    "flat_map": lambda: RANGE(4).flat_map(lambda x: RANGE(x + 1)),
    "interleave": lambda: RANGE(4).interleave(lambda x: RANGE(x, x + 3), cycle_length=2),
    "parallel interleave": lambda: RANGE(4).interleave(
        lambda x: RANGE(x, x + 3), cycle_length=2, num_parallel_calls=2
    ),
    "padded": lambda: RANGE(1, 5).map(lambda n: tf.ones([n])).padded_batch(2),
    "unbatch": lambda: RANGE(8).batch(4).unbatch().prefetch(2),
    "zip": lambda: tf.data.Dataset.zip((RANGE(8), RANGE(8).map(lambda x: -x))),
    "shard": lambda: RANGE(8).shard(2, 1).cache().prefetch(1),
    "buckets": lambda: (
        RANGE(1, 9)
        .map(lambda n: tf.ones([n % 3 + 1]))
        .bucket_by_sequence_length(lambda row: tf.shape(row)[0], [2], [2, 2], drop_remainder=True)
    ),
    "dicts": lambda: tf.data.Dataset.from_tensor_slices(({"a": [1, 2]}, ["x", "y"])).batch(2),
}


def values(dataset):
    return [tf.nest.map_structure(np.asarray, e) for e in dataset.as_numpy_iterator()]


@pytest.mark.parametrize("name", PIPELINES)
def test_the_chain_builds_what_the_dataset_is(name):
    dataset = PIPELINES[name]()
    chain = chain_of_target(dataset, "train", None)
    built = chain.build()
    assert tf.nest.map_structure(lambda s: s.dtype, built.element_spec) == tf.nest.map_structure(
        lambda s: s.dtype, dataset.element_spec
    )
    expected = values(dataset)
    found = values(built.take(len(expected)))
    for one, other in zip(expected, found, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_steps_say_what_they_are():
    def noisy(x):
        return x + tf.random.uniform([], maxval=9, dtype=tf.int64)

    dataset = RANGE(8).map(python_map).map(noisy).map(lambda x: x * 2, num_parallel_calls=4)
    dataset = dataset.shuffle(1000).batch(2).prefetch(tf.data.AUTOTUNE)
    chain = chain_of_target(dataset, "train", None)
    kinds = [(s.kind, s.python, s.random, s.stateful, s.calls) for s in chain.steps]
    assert kinds == [
        ("source", False, False, False, None),
        ("map", True, False, True, None),
        ("map", False, True, True, None),
        ("map", False, False, False, 4),
        ("shuffle", False, False, False, None),
        ("batch", False, False, False, None),
        ("prefetch", False, False, False, -1),
    ]
    assert [step.stage for step in chain.steps[1:4]] == ["map 1", "map 2", "map 3"]
    assert chain.steps[4].size == 1000


def test_the_steps_of_an_input_function_know_their_lines():
    def input_fn():
        dataset = RANGE(8)
        dataset = dataset.map(python_map)
        return dataset.batch(2)

    first = input_fn.__code__.co_firstlineno
    chain = chain_of_target(input_fn, "train", None)
    places = [step.place for step in chain.steps]
    assert places == [f"tests/profiling/test_chain.py:{first + at}" for at in (1, 2, 3)]


def test_the_dataset_behind_an_iterator_is_found():
    def input_fn(params):
        dataset = RANGE(8).batch(params["batch_size"])
        return tf.compat.v1.data.make_one_shot_iterator(dataset).get_next()

    chain = chain_of_target(input_fn, "train", {"batch_size": 4})
    assert [step.kind for step in chain.steps] == ["source", "batch"]
    assert chain.steps[1].size == 4


def test_an_initializable_iterator_is_followed_too():
    def input_fn():
        dataset = RANGE(8).batch(2)
        return tf.compat.v1.data.make_initializable_iterator(dataset).get_next()

    assert chain_of_target(input_fn, "train", None).steps[-1].size == 2


def test_the_stages_of_an_input_fn_have_their_names():
    fn = estimator_io.input_fn(
        np.zeros((64, 3)),
        parse=lambda x: x + 1,
        augment=lambda x, seed: x + tf.cast(seed[0], tf.float64),
        batch_size=8,
    )
    stages = [step.stage for step in chain_of_target(fn, "train", None).steps]
    assert list(dict.fromkeys(stages))[-5:] == ["read", "parse", "augment", "batch", "prefetch"]


def test_what_cannot_be_called_says_what_it_needs():
    with pytest.raises(OptionError, match="needs arguments: files"):
        chain_of_target(lambda files: RANGE(3), "train", None)
    with pytest.raises(OptionError, match="no Dataset"):
        chain_of_target(lambda: 3, "train", None)
    with pytest.raises(OptionError, match="InputFn, an input function or a Dataset"):
        chain_of_target([1, 2], "train", None)
    with tf.Graph().as_default():
        dataset = RANGE(3)
    with pytest.raises(OptionError, match="belongs to a graph"):
        chain_of_target(dataset, "train", None)


def test_it_works_without_v2_behavior_and_inside_a_graph():
    code = (
        "import time, tensorflow as tf, numpy as np, estimator_io\n"
        "tf.compat.v1.disable_v2_behavior()\n"
        "def wait(x):\n"
        "  time.sleep(0.02)\n"
        "  return x\n"
        "def input_fn():\n"
        "  ds = tf.data.Dataset.from_tensor_slices(np.zeros([64, 2], np.float32))\n"
        "  ds = ds.map(lambda x: tf.numpy_function(wait, [x], tf.float32)).batch(4)\n"
        "  return tf.compat.v1.data.make_one_shot_iterator(ds).get_next()\n"
        "with tf.Graph().as_default():\n"
        "  report = estimator_io.profile(input_fn, step_seconds=0.002, seconds=3)\n"
        "print(report.verdict.kind, report.verdict.stage)\n"
    )
    done = forks.run(["-c", code])
    assert done.returncode == 0, done.stderr
    assert done.stdout.split("\n")[-2] == "input-bound map"
