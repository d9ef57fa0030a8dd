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


def test_tensors_are_refused_with_the_remedy():
    with pytest.raises(StructureError, match=r"Received: tuple.*make_one_shot_iterator"):
        migration.to_dataset(lambda: (tf.constant(1), tf.constant(2)))


def test_an_argument_that_nobody_gives_is_refused_by_name():
    with pytest.raises(OptionError, match="asks for 'files'"):
        migration.to_dataset(lambda files: None)


def test_the_documented_example_gives_what_it_says():
    assert doctest.testmod(migration.datasets).failed == 0
