"""Input functions as Datasets for fit."""

import doctest

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
import migration
import migration.datasets
from estimator_io import OptionError, StructureError


def values(dataset):
    return [batch.tolist() for batch in dataset.as_numpy_iterator()]


def test_an_input_fn_gives_what_its_dataset_method_gives():
    fn = estimator_io.input_fn(np.arange(7), batch_size=3, seed=1, epochs=1)
    for mode in ("train", "eval"):
        assert values(migration.to_dataset(fn, mode)) == values(fn.dataset(mode))


def test_params_give_a_batch_size_that_is_still_open():
    fn = estimator_io.input_fn(np.arange(4), seed=1)
    assert values(migration.to_dataset(fn, "eval", params={"batch_size": 4})) == [[0, 1, 2, 3]]


def test_a_legacy_function_gets_the_arguments_it_takes():
    def all_of_them(mode, params, config=None):
        assert config == "config"
        return tf.data.Dataset.range(3 if mode == "eval" else 9).batch(params["batch_size"])

    dataset = migration.to_dataset(all_of_them, "eval", params={"batch_size": 2}, config="config")
    assert values(dataset) == [[0, 1], [2]]
    assert values(migration.to_dataset(lambda: tf.data.Dataset.range(2))) == [0, 1]


def test_what_is_no_data_is_refused():
    with pytest.raises(StructureError, match=r"returned no data\. Received: int"):
        migration.to_dataset(lambda: {"x": 1})


def test_an_argument_that_nobody_gives_is_refused_by_name():
    with pytest.raises(OptionError, match="asks for 'files'"):
        migration.to_dataset(lambda files: None)


def test_the_documented_example_gives_what_it_says():
    assert doctest.testmod(migration.datasets).failed == 0


v1 = tf.compat.v1


def one_shot():
    dataset = tf.data.Dataset.from_tensor_slices(({"x": [1, 2, 3]}, [4, 5, 6])).batch(2)
    return v1.data.make_one_shot_iterator(dataset).get_next()


def initializable():
    table = tf.lookup.StaticHashTable(
        tf.lookup.KeyValueTensorInitializer(tf.constant(["a", "b"]), tf.constant([1, 2])), 0
    )
    dataset = tf.data.Dataset.from_tensor_slices(["a", "b", "c"]).map(table.lookup).batch(2)
    iterator = v1.data.make_initializable_iterator(dataset)
    v1.add_to_collection(v1.GraphKeys.TABLE_INITIALIZERS, iterator.initializer)
    return iterator.get_next()


def queue():
    (row,) = v1.train.slice_input_producer([tf.constant([7, 8, 9])], num_epochs=1, shuffle=False)
    return {"x": v1.train.batch([row], 2, allow_smaller_final_batch=True)}


def sparse():
    rows = tf.sparse.from_dense([[0.0, 1.0], [2.0, 0.0], [0.0, 0.0]])
    dataset = tf.data.Dataset.from_tensor_slices(rows).batch(2)
    return v1.data.make_one_shot_iterator(dataset).get_next()


@pytest.mark.parametrize("passes", [1, 2])
def test_the_tensors_of_an_iterator_are_batches_until_it_ends(passes):
    dataset = migration.to_dataset(one_shot, "train")
    for _ in range(passes):  # each iteration is a call of the function, as under the Estimator
        found = list(dataset.as_numpy_iterator())
        assert [x["x"].tolist() for x, _ in found] == [[1, 2], [3]]
        assert [y.tolist() for _, y in found] == [[4, 5], [6]]


def test_tables_and_initializable_iterators_are_initialised():
    assert values(migration.to_dataset(initializable)) == [[1, 2], [0]]


def test_queues_are_run():
    found = migration.to_dataset(queue).as_numpy_iterator()
    assert [batch["x"].tolist() for batch in found] == [[7, 8], [9]]


def test_sparse_tensors_stay_sparse():
    dataset = migration.to_dataset(sparse)
    assert isinstance(dataset.element_spec, tf.SparseTensorSpec)
    dense = [tf.sparse.to_dense(batch).numpy().tolist() for batch in dataset]
    assert dense == [[[0, 1], [2, 0]], [[0, 0]]]


def test_an_error_of_the_function_itself_is_the_users_to_see():
    def broken():
        raise RuntimeError("no such bucket")

    with pytest.raises(RuntimeError, match="no such bucket"):
        migration.to_dataset(broken)
