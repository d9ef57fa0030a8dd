"""Legacy input functions as people write them: one for each pattern, and combinations.

Each takes `world`, which names files and collects what a program would do by itself.
"""

from __future__ import annotations

import collections
import dataclasses
import functools
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

v1 = tf.compat.v1
Dataset: Any = tf.data.Dataset
AUTOTUNE = tf.data.AUTOTUNE

ARRAY = np.arange(2400, dtype=np.float32).reshape(400, 6)  # 9.6 kB: not to be in a graph
LABELS = np.arange(400, dtype=np.int64) % 3
WORDS = [f"word-{number:04d}" for number in range(300)]


@dataclasses.dataclass
class World:
    """Files to read, and what runs once a session is there.

    Attributes:
      folder: with files "a.txt", "b.txt", "rows.tfrecord", "table.csv" and "0.jpg".
      hook: a function of the session, run before the first element.
      outside: a Dataset that was made before any input function was called.
    """

    folder: str
    hook: Callable[[Any], Any] | None = None
    outside: Any = None

    def file(self, name: str) -> str:
        """Returns the path of a file."""
        return os.path.join(self.folder, name)


@dataclasses.dataclass(frozen=True)
class Case:
    """An input function.

    Attributes:
      make: returns the function that an Estimator would be handed.
      untouched: whether it has to stay as it is.
      graph_only: whether it cannot be read outside of graphs.
      rounds: whether a Dataset outside of graphs may give other last bits than a session.
      fails_alone: whether TensorFlow refuses it as it is written; `world.outside` is what is meant.
      untouched_v1: whether it has to stay as it is with the behaviour of TensorFlow 1.
    """

    make: Any  # of a World, to what an Estimator is handed
    untouched: bool = False
    graph_only: bool = False
    rounds: bool = False
    fails_alone: bool = False
    untouched_v1: bool = False


CASES: dict[str, Case] = {}


def case(**facts: bool) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Adds a function of (world) or (world, *what the Estimator gives) to the table."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES[function.__name__] = Case(functools.partial(_with_world, function), **facts)
        return function

    return add


def _with_world(function: Callable[..., Any], world: World) -> Callable[..., Any]:
    return functools.partial(function, world)


def maker(function: Callable[[World], Callable[..., Any]]) -> Callable[..., Any]:
    """Adds a function that returns the input function."""
    CASES[function.__name__] = Case(function)
    return function


def slices(count: int = 400) -> Any:
    return Dataset.from_tensor_slices(({"x": ARRAY[:count]}, LABELS[:count]))


def tfrecords(world: World) -> Any:
    return tf.data.TFRecordDataset(world.file("rows.tfrecord"))


def one_shot(dataset: Any) -> Any:
    return v1.data.make_one_shot_iterator(dataset).get_next()


# Arrays, order and epochs.


@case()
def serial_map(world):
    return Dataset.range(20).map(lambda x: x * x).batch(4)


@case()
def arrays_in_the_graph(world):
    return slices().batch(32)


@case()
def arrays_shuffled_without_a_seed(world):
    return slices().shuffle(400).repeat().batch(32)


@case()
def arrays_shuffled_with_a_seed(world):
    return slices().shuffle(50, seed=3).map(lambda f, y: (f["x"] + 1, y)).batch(32)


@case()
def one_order_for_all_epochs(world):
    shuffled = slices(40).shuffle(40, reshuffle_each_iteration=False)
    return shuffled.repeat(3).batch(32)


@case()
def repeat_before_shuffle(world):
    return slices(40).repeat(2).shuffle(100).batch(16)


@case()
def two_shuffles_around_a_map(world):
    files = slices(60).shuffle(60)
    return files.map(lambda f, y: ({"x": tf.square(f["x"])}, y)).shuffle(30).batch(16)


@case()
def from_tensors(world):
    return Dataset.from_tensors(({"x": ARRAY}, LABELS)).repeat(2)


@case()
def strings_in_the_graph(world):
    return Dataset.from_tensor_slices(WORDS).map(tf.strings.length).batch(50)


@case()
def absurd_prefetch_before_the_batch(world):
    return slices().prefetch(5000).batch(32)


@case()
def absurd_prefetch_of_batches(world):
    return slices().batch(8).prefetch(10000)


@case()
def prefetch_is_there(world):
    return slices().batch(32).prefetch(1)


@case()
def prefetch_then_repeat(world):
    return slices(40).batch(32).prefetch(2).repeat(2)


@case()
def take_skip_and_shard(world):
    return slices().skip(3).shard(2, 1).take(90).batch(32)


@case()
def filtered(world):
    return slices().filter(lambda f, y: tf.equal(y, 1)).batch(32)


@case()
def zipped(world):
    numbers = Dataset.range(50).map(lambda x: x + 1)
    return Dataset.zip((numbers, Dataset.from_tensor_slices(ARRAY[:50]))).batch(8)


@case()
def concatenated(world):
    return slices(20).concatenate(slices(30)).batch(16)


@case()
def cached_in_memory(world):
    return slices(40).map(lambda f, y: (f["x"] * 2, y)).cache().repeat(2).batch(16)


@case()
def already_parallel(world):
    return slices().map(lambda f, y: (f["x"] * 2, y), num_parallel_calls=3).batch(32)


@case()
def any_order_asked_for_but_kept(world):
    options = tf.data.Options()
    options.deterministic = True
    return slices().map(lambda f, y: (f["x"] * 2, y)).batch(32).with_options(options)


@case()
def map_and_batch(world):
    stage = tf.data.experimental.map_and_batch(lambda f, y: (f["x"] - 1, y), 32)
    return slices().apply(stage)


@case()
def shuffle_and_repeat(world):
    return slices(40).apply(tf.data.experimental.shuffle_and_repeat(40, 2)).batch(16)


@case()
def padded(world):
    return Dataset.range(1, 30).map(lambda n: tf.fill([n % 5 + 1], n)).padded_batch(4, [None])


@case()
def bucketed(world):
    rows = Dataset.range(1, 60).map(lambda n: tf.fill([n % 7 + 1], n))
    length = tf.data.experimental.bucket_by_sequence_length(
        lambda row: tf.shape(row)[0], [3, 6], [4, 4, 4]
    )
    return rows.apply(length)


@case()
def windows(world):
    return Dataset.range(20).window(4, 2).flat_map(lambda window: window.batch(4))


@case()
def scanned(world):
    step = tf.data.experimental.scan(np.int64(0), lambda total, x: (total + x, total + x))
    return Dataset.range(20).apply(step).batch(4)


@case()
def enumerated(world):
    return (
        slices(40)
        .apply(tf.data.experimental.enumerate_dataset())
        .batch(8)
        .map(lambda index, row: (row[0], row[1] + index))
    )


# Files.


@case()
def lines_interleaved(world):
    files = Dataset.from_tensor_slices([world.file("a.txt"), world.file("b.txt")])
    lines = files.interleave(lambda name: tf.data.TextLineDataset(name).skip(1), cycle_length=2)
    return lines.map(lambda line: tf.strings.to_number(line)).batch(3)


@case()
def lines_one_file_after_another(world):
    files = Dataset.list_files(world.file("*.txt"), shuffle=False)
    return files.flat_map(tf.data.TextLineDataset).batch(3)


@case()
def files_listed_in_random_order(world):
    return Dataset.list_files(world.file("*.txt")).map(tf.io.read_file).batch(1)


RECORD = {
    "x": tf.io.FixedLenFeature([2], tf.float32),
    "y": tf.io.VarLenFeature(tf.int64),
}


@case()
def records(world):
    def parse(text):
        row = tf.io.parse_single_example(text, RECORD)
        return row["x"], tf.sparse.to_dense(row["y"])

    return tfrecords(world).map(parse).padded_batch(4, ([2], [None]))


@case()
def sparse_features(world):
    texts = tfrecords(world).batch(4)
    return texts.map(lambda text: tf.io.parse_example(text, RECORD))


@case()
def sparse_features_of_an_iterator(world):
    texts = tfrecords(world).batch(4)
    row = one_shot(texts.map(lambda text: tf.io.parse_example(text, RECORD)))
    return row, tf.reduce_sum(row["x"], axis=1)


@case()
def parsed_behind_the_iterator(world):
    texts = one_shot(tfrecords(world).batch(4))
    return tf.io.parse_example(texts, RECORD)


@case()
def csv(world):
    def parse(line):
        a, b, name = tf.io.decode_csv(line, [[0], [0.0], [""]])
        return {"a": a, "b": b}, name

    return tf.data.TextLineDataset(world.file("table.csv")).skip(1).map(parse).batch(3)


@case()
def csv_dataset(world):
    return tf.data.experimental.make_csv_dataset(
        world.file("table.csv"), batch_size=3, label_name="name", num_epochs=2, shuffle=False
    )


@case()
def pictures(world):
    def decode(name, label):
        image = tf.image.decode_jpeg(tf.io.read_file(name), channels=3)
        return tf.image.resize(image, [8, 8]), label

    names = [world.file("0.jpg")] * 30
    return Dataset.from_tensor_slices((names, list(range(30)))).map(decode).batch(4)


@case()
def pictures_flipped_at_random(world):
    def decode(name):
        image = tf.image.decode_jpeg(tf.io.read_file(name), channels=3)
        return tf.image.random_flip_left_right(tf.image.resize(image, [8, 8]))

    return Dataset.from_tensor_slices([world.file("0.jpg")] * 12).map(decode).batch(4)


# Functions of Python.


@case()
def numpy_function(world):
    def double(x):
        return (x * 2).astype(np.float32)

    def call(f, y):
        x = tf.numpy_function(double, [f["x"]], tf.float32)
        return tf.ensure_shape(x, [6]), y

    return slices(40).map(call).batch(8)


@case()
def python_that_remembers(world):
    seen = []

    def number(x):
        seen.append(x)
        return np.int64(len(seen))

    return Dataset.range(30).map(lambda x: tf.numpy_function(number, [x], tf.int64)).batch(4)


@case()
def py_function(world):
    def root(x):
        return tf.sqrt(x)

    return slices(40).map(lambda f, y: (tf.py_function(root, [f["x"]], tf.float32), y)).batch(8)


@case()
def py_func_behind_the_iterator(world):
    x, y = one_shot(slices(40).map(lambda f, y: (f["x"], y)).batch(8))
    half = v1.py_func(lambda values: values / np.float32(2), [x], tf.float32)
    half.set_shape(x.shape)
    return {"x": half}, y


@case()
def generator(world):
    def rows():
        for number in range(20):
            yield {"x": [number, number + 1]}, number % 2

    types, shapes = ({"x": tf.float32}, tf.int64), ({"x": [2]}, [])
    return Dataset.from_generator(rows, types, shapes).batch(6)


# Iterators.


@case()
def one_shot_tensors(world):
    return one_shot(slices().batch(32))


@case()
def one_shot_method(world):
    return v1.data.Dataset.range(20).batch(4).make_one_shot_iterator().get_next()


@case()
def one_shot_shuffled(world):
    features, labels = one_shot(slices().shuffle(400).repeat().batch(32))
    return features, labels


@case(rounds=True)
def computed_behind_the_iterator(world):
    features, labels = one_shot(slices().batch(32))
    x = (features["x"] - tf.reduce_mean(features["x"])) / 7.0
    return {"x": x, "sum": tf.reduce_sum(x, axis=1)}, tf.one_hot(labels, 3)


@case()
def random_behind_the_iterator(world):
    features, labels = one_shot(slices().shuffle(400).batch(32))
    noise = tf.random.normal(tf.shape(features["x"]))
    return {"x": features["x"] + noise, "twice": noise}, labels


@case(rounds=True)
def large_constant_and_arithmetic_behind_the_iterator(world):
    rows = one_shot(Dataset.range(400).batch(16))
    x = tf.gather(tf.constant(ARRAY), rows)
    return {"x": (x - 3.0) / 7.0 + x / 11.0}, rows


@case()
def large_constant_behind_the_iterator(world):
    rows = one_shot(Dataset.range(400).batch(16))
    return {"x": tf.gather(tf.constant(ARRAY), rows)}, tf.gather(LABELS, rows)


@case()
def initialized_with_the_tables(world):
    iterator = v1.data.make_initializable_iterator(slices().shuffle(400).batch(32))
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


@case(graph_only=True)
def initialized_by_a_hook(world):
    iterator = v1.data.make_initializable_iterator(slices().batch(32))
    world.hook = lambda session: session.run(iterator.initializer)
    return iterator.get_next()


@case(untouched=True, graph_only=True)
def fed_through_placeholders(world):
    x = v1.placeholder(tf.float32, [None, 6])
    iterator = v1.data.make_initializable_iterator(Dataset.from_tensor_slices(x).batch(32))
    world.hook = lambda session: session.run(iterator.initializer, {x: ARRAY})
    return iterator.get_next()


@case(untouched=True, graph_only=True)
def initializer_that_the_program_holds(world):
    iterator = v1.data.make_initializable_iterator(slices().batch(32))
    start = iterator.initializer
    world.hook = lambda session: session.run(start)
    return iterator.get_next()


@case()
def shapes_behind_the_iterator(world):
    words = one_shot(Dataset.from_tensor_slices([f"a b{n} c"[: n % 7] for n in range(9)]).batch(4))
    return {"words": tf.strings.split(words).to_tensor("")}


@case(untouched_v1=True)
def loop_behind_the_iterator(world):
    x = one_shot(Dataset.range(40).batch(4))
    return {"sums": tf.scan(lambda total, value: total + value, x)}


@case()
def two_iterators(world):
    x = one_shot(Dataset.from_tensor_slices(ARRAY).batch(32))
    y = one_shot(Dataset.from_tensor_slices(LABELS).map(lambda y: y + 1).batch(32))
    return {"x": x}, y


@case(untouched=True, graph_only=True)
def the_global_step_behind_the_iterator(world):
    step = v1.train.get_or_create_global_step()
    return {"x": one_shot(slices().batch(32))[0]["x"] + tf.cast(step, tf.float32)}


@case(untouched=True, graph_only=True)
def summaries(world):
    features, labels = one_shot(slices().batch(32))
    v1.summary.histogram("x", features["x"])
    return features, labels


@case(untouched=True, graph_only=True)
def tensors_that_never_change(world):
    return {"x": tf.constant([[1.0], [2.0]])}, tf.constant([0, 1])


@case()
def labels_that_are_none(world):
    return one_shot(slices().batch(32))[0], None


@case()
def a_list_of_two(world):
    return [*one_shot(slices().batch(32))]


@case()
def features_alone(world):
    return one_shot(slices().batch(32))[0]


# Tables, conditions, loops, constants in functions.


def table() -> Any:
    keys = tf.constant(WORDS)
    values = tf.constant(np.arange(300, dtype=np.int64))
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(keys, values), -1)


@case()
def table_in_a_map(world):
    words = table()
    names = Dataset.from_tensor_slices(WORDS + ["unknown"])
    return names.map(lambda name: {"id": words.lookup(name)}).batch(64)


@case()
def table_behind_the_iterator(world):
    words = table()
    names = one_shot(Dataset.from_tensor_slices(WORDS).shuffle(300).batch(64))
    return {"id": words.lookup(names)}


@case()
def table_of_a_file(world):
    start = tf.lookup.TextFileInitializer(
        world.file("a.txt"),
        tf.string,
        tf.lookup.TextFileIndex.WHOLE_LINE,
        tf.int64,
        tf.lookup.TextFileIndex.LINE_NUMBER,
    )
    words = tf.lookup.StaticVocabularyTable(start, 2)
    return tf.data.TextLineDataset(world.file("b.txt")).map(words.lookup).batch(3)


@case()
def condition_and_loop_in_a_map(world):
    def work(x):
        x = tf.cond(tf.equal(x % 2, 0), lambda: x * 10, lambda: x)
        _, x = tf.while_loop(lambda i, _: i < 3, lambda i, v: (i + 1, v + i), [np.int64(0), x])
        return x

    return Dataset.range(30).map(work).batch(7)


@case()
def condition_behind_the_iterator(world):
    x, y = one_shot(slices().map(lambda f, y: (f["x"], y)).batch(32))
    x = tf.cond(tf.reduce_sum(x) > 5e4, lambda: x * 2, lambda: x / 2)
    return {"x": x}, y


@case()
def checked_in_a_map(world):
    def check(x):
        with tf.control_dependencies([tf.debugging.assert_less(x, np.int64(100))]):
            return tf.identity(x)

    return Dataset.range(30).map(check).batch(7)


@case()
def checked_behind_the_iterator(world):
    x = one_shot(Dataset.range(30).batch(7))
    with tf.control_dependencies([v1.assert_non_negative(x)]):
        return {"x": tf.identity(x)}


@case()
def large_constant_in_a_map(world):
    return Dataset.range(400).map(lambda i: (ARRAY[0], tf.gather(ARRAY, i))).batch(16)


@case()
def large_constant_in_an_inner_dataset(world):
    def inner(i):
        return Dataset.from_tensor_slices(ARRAY).skip(i).take(2)

    return Dataset.range(20).interleave(inner, cycle_length=4).batch(8)


@case()
def random_numbers_with_a_seed(world):
    return Dataset.range(20).map(lambda x: tf.random.uniform([2], seed=5)).batch(4)


@case()
def random_numbers_without_a_seed(world):
    return Dataset.range(20).map(lambda x: tf.random.uniform([2])).batch(4)


@case()
def stateless_random_numbers(world):
    def draw(x):
        return tf.random.stateless_uniform([2], tf.stack([x, x]))

    return Dataset.range(20).map(draw).batch(4)


@case()
def ragged_rows(world):
    rows = Dataset.range(1, 20).map(lambda n: tf.range(n % 4))
    return rows.apply(tf.data.experimental.dense_to_ragged_batch(4))


@case()
def shuffled_by_numpy(world):
    order = np.random.permutation(400)
    return Dataset.from_tensor_slices((ARRAY[order], LABELS[order])).batch(32)


# What Estimators give, and forms of functions.


@case()
def takes_mode(world, mode):
    dataset = slices(80)
    return (dataset.shuffle(80).repeat() if mode == "train" else dataset).batch(16)


@case()
def takes_params(world, params):
    return slices(80).batch(params["batch_size"])


@case()
def takes_everything(world, mode, params, config, input_context=None):
    return slices(80).batch(params["batch_size"] + len(mode) + len(config))


@case()
def takes_keywords_alone(world, *, size=16):
    return slices(80).batch(size)


@maker
def a_lambda(world):
    return lambda: slices(80).map(lambda f, y: (f["x"], y)).batch(16)


@maker
def a_bound_method(world):
    class Inputs:
        size = 16

        def train(self, params):
            return slices(80).batch(self.size + params["batch_size"])

    return Inputs().train


@maker
def an_object(world):
    class Inputs:
        def __call__(self, mode):
            return one_shot(slices(80).batch(len(mode)))

    return Inputs()


@maker
def a_partial(world):
    def build(x, size, mode):
        return Dataset.from_tensor_slices(x).batch(size + len(mode))

    return functools.partial(build, ARRAY, size=4)


@case()
def named_tuples(world):
    row = collections.namedtuple("row", "x y")
    return Dataset.range(20).map(lambda n: ({"r": row(n, n + 1)}, n)).batch(4)


# Queues, and what was made outside.


def inputs() -> Any:
    from estimator_io import compat

    compat.install()
    from tensorflow_estimator.python.estimator.inputs import inputs

    return inputs


@maker
def numpy_queue(world):
    return inputs().numpy_input_fn({"x": ARRAY[:50]}, LABELS[:50], 16, num_epochs=3, shuffle=False)


@case()
def numpy_queue_inside(world):
    rows = inputs().numpy_input_fn({"x": ARRAY[:50]}, LABELS[:50], 16, None, shuffle=False)
    features, labels = rows()
    return {"x": features["x"] / 2}, tf.cast(labels, tf.float32)


@maker
def pandas_queue(world):
    import pandas

    frame = pandas.DataFrame({"a": np.arange(50.0), "b": WORDS[:50]}).astype({"b": object})
    return inputs().pandas_input_fn(frame, frame["a"] * 2, 16, num_epochs=2, shuffle=False)


@case(fails_alone=True)
def made_outside(world):
    return world.outside


@case(fails_alone=True)
def made_outside_and_batched_inside(world):
    return world.outside.map(lambda f, y: (f["x"] + 1, y)).batch(8)


@case(fails_alone=True)
def iterator_of_what_was_made_outside(world):
    features, labels = one_shot(world.outside.map(lambda f, y: (f["x"] + 1, y)).batch(8))
    return {"x": features * 2}, labels
