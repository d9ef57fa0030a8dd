"""dataset_input_fn: rows and batches of a Dataset that a function builds."""

import functools

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError


def pairs():
    return tf.data.Dataset.range(10).map(lambda i: ({"x": i * 2}, i))


@pytest.mark.parametrize("how", ["eager", "graph"])
@pytest.mark.parametrize("batched", [False, True])
def test_rows_or_batches_become_batches_of_the_size_that_was_asked_for(draw, how, batched):
    build = (lambda: pairs().batch(3)) if batched else pairs
    fn = estimator_io.dataset_input_fn(build, batched=batched, batch_size=4)
    batches = draw(lambda: fn("eval"), how)
    assert [labels.tolist() for _, labels in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches[0][0]["x"].tolist() == [0, 2, 4, 6]


def test_training_shuffles_and_repeats(draw):
    fn = estimator_io.dataset_input_fn(pairs, batch_size=10, epochs=2, seed=3)
    one, other = (labels.tolist() for _, labels in draw(lambda: fn("train")))
    assert sorted(one) == sorted(other) == list(range(10))
    assert one != other


def test_the_printed_program_takes_batches_apart(draw):
    fn = estimator_io.dataset_input_fn(
        lambda: pairs().batch(3), batched=True, batch_size=4, epochs=1, seed=1
    )
    namespace = {}
    exec(compile(fn.source_code(), "printed", "exec"), namespace)
    found = draw(lambda: namespace["make_dataset"](lambda: pairs().batch(3)))
    for one, other in zip(found, draw(fn.dataset), strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)


def test_what_cannot_be_is_refused():
    make = functools.partial(estimator_io.dataset_input_fn, batch_size=1)
    with pytest.raises(OptionError, match=r"function is no function.*lambda"):
        make(pairs())
    with pytest.raises(OptionError, match=r"needs arguments: path\. .*functools\.partial"):
        make(lambda path, key=1: None)
    make(functools.partial(lambda path: pairs(), "x")).dataset()
    with pytest.raises(NoDataError):
        make(lambda: pairs().take(0)).dataset()
