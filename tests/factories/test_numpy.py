"""numpy_input_fn behaves as the function of that name in tf.compat.v1.estimator.inputs did."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError

X = {"a": np.arange(5), "b": np.arange(5, 10)}
Y = np.arange(100, 105)


def labels(fn, *args):
    return [batch[1].tolist() for batch in fn(*args).as_numpy_iterator()]


def test_it_takes_the_old_arguments_in_the_old_order():
    fn = estimator_io.numpy_input_fn(X, Y, 2, 1, False, 1000, 1)
    assert labels(fn) == [[100, 101], [102, 103], [104]]


@pytest.mark.parametrize("mode", [None, "train", "eval", "infer"])
def test_epochs_and_shuffle_count_in_every_mode(mode):
    fn = estimator_io.numpy_input_fn(X, Y, batch_size=5, num_epochs=2, shuffle=True, seed=1)
    first, second = labels(fn, mode)
    assert sorted(first) == sorted(second) == Y.tolist()
    assert first != second
    assert labels(fn, mode) == [first, second]  # each call starts over


def test_batches_run_across_epochs_as_the_queues_did():
    fn = estimator_io.numpy_input_fn(X, Y, batch_size=4, num_epochs=2, shuffle=False)
    assert labels(fn) == [[100, 101, 102, 103], [104, 100, 101, 102], [103, 104]]


def test_one_epoch_is_the_default_and_none_is_endless():
    assert estimator_io.numpy_input_fn(X, Y, shuffle=False).num_batches("train") == 1
    assert estimator_io.numpy_input_fn(X, Y, num_epochs=None, shuffle=False).num_batches() is None


def test_labels_may_be_missing_or_a_dict():
    alone = next(estimator_io.numpy_input_fn(X, shuffle=False)().as_numpy_iterator())
    assert {name: values.tolist() for name, values in alone.items()} == {
        name: values.tolist() for name, values in X.items()
    }
    _, both = next(
        estimator_io.numpy_input_fn(X, {"p": Y, "q": -Y}, shuffle=False)().as_numpy_iterator()
    )
    assert both["q"].tolist() == (-Y).tolist()


def test_an_array_alone_is_a_feature():
    features, _ = next(
        estimator_io.numpy_input_fn(np.eye(3), np.arange(3), shuffle=False)().as_numpy_iterator()
    )
    assert features.tolist() == np.eye(3).tolist()


def test_augmentation_is_for_training_alone_even_so():
    fn = estimator_io.numpy_input_fn(X, Y, shuffle=False, augment=lambda f, y: (f, y + 1))
    assert labels(fn, "train") == [[101, 102, 103, 104, 105]]
    assert labels(fn, "eval") == [Y.tolist()]


def test_a_fixed_mode_counts_for_augmentation():
    fn = estimator_io.numpy_input_fn(X, Y, shuffle=False, augment=lambda f, y: (f, y + 1))
    assert labels(fn.for_mode("infer")) == [Y.tolist()]


def test_a_filter_that_drops_everything_is_an_error_and_never_a_hang():
    fn = estimator_io.numpy_input_fn(X, Y, shuffle=False, filter=lambda f, y: tf.less(y, 0))
    with pytest.raises(NoDataError, match="No row is left"):
        fn()


@pytest.mark.parametrize(
    ("arguments", "kind", "words"),
    [
        ({}, OptionError, "shuffle must be given"),
        ({"shuffle": 3}, OptionError, "shuffle must be given"),
        ({"shuffle": True, "y": np.arange(3)}, SourceError, "y has 3 rows, but x['a'] has 5"),
        ({"shuffle": True, "y": {}}, SourceError, "y is an empty dict"),
        ({"shuffle": True, "x": {}}, SourceError, "x is an empty dict"),
        ({"shuffle": True, "x": {"a": np.zeros(0)}}, NoDataError, "x['a'] has no rows"),
        ({"shuffle": True, "num_epochs": 0}, OptionError, "epochs"),
    ],
)
def test_what_cannot_be_is_refused(arguments, kind, words):
    with pytest.raises(kind) as caught:
        estimator_io.numpy_input_fn(**{"x": X, **arguments})
    assert words in str(caught.value)


def old_rows(x, y, **arguments):
    """Returns what tensorflow-estimator's own function gives, through its queues."""
    estimator_io.compat.install()
    old = tf.compat.v1.estimator.inputs.numpy_input_fn(x, y, **arguments)
    rows, v1 = [], tf.compat.v1
    with tf.Graph().as_default():
        element = old()
        with v1.train.MonitoredSession() as session:
            while not session.should_stop():
                try:
                    rows.append(session.run(element))
                except tf.errors.OutOfRangeError:
                    break
    return rows


@pytest.mark.parametrize(
    ("x", "y"),
    [
        (X, Y),
        (X, None),
        (X, {"p": Y, "q": Y / 2}),
        (np.arange(10.0).reshape(5, 2), Y),
        ({"s": np.array(list("abcde")), "t": np.ones([5, 2, 2], np.float32)}, Y > 102),
    ],
)
@pytest.mark.parametrize("batch_size", [4, 5])
def test_the_old_function_gives_the_same_batches(draw, x, y, batch_size):
    arguments = {"batch_size": batch_size, "num_epochs": 2, "shuffle": False}
    expected = old_rows(x, y, queue_capacity=20, num_threads=1, **arguments)
    fn = estimator_io.numpy_input_fn(x, y, queue_capacity=20, num_threads=1, **arguments)
    found = draw(lambda: fn(), "graph")
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        tf.nest.map_structure(np.testing.assert_array_equal, one, other)
        dtypes = [[part.dtype for part in tf.nest.flatten(batch)] for batch in (one, other)]
        assert dtypes[0] == dtypes[1]


def test_the_old_function_shuffles_the_same_rows(draw):
    arguments = {"batch_size": 5, "num_epochs": 2, "shuffle": True}
    expected = old_rows(X, Y, **arguments)
    found = draw(estimator_io.numpy_input_fn(X, Y, **arguments), "graph")
    for batches in (found, expected):
        assert sorted(y for _, labels in batches for y in labels) == sorted([*Y, *Y])
        assert all((f["a"] + 100 == labels).all() for f, labels in batches)


def test_rows_of_an_array_that_does_not_lie_in_one_piece_are_right(draw):
    x = np.arange(400_000, dtype=np.int64).reshape(2, -1).T  # too large for the graph
    fn = estimator_io.numpy_input_fn(x, batch_size=1000, shuffle=True, seed=1)
    found = np.concatenate(draw(fn))
    np.testing.assert_array_equal(found[np.argsort(found[:, 0])], x)
