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


def test_old_calls_of_the_real_function_give_the_same_rows(draw):
    """The reference is tensorflow-estimator's own function, through its queues."""
    estimator_io.compat.install()
    inputs = tf.compat.v1.estimator.inputs
    old = inputs.numpy_input_fn(X, Y, batch_size=4, num_epochs=2, shuffle=False)
    rows = []
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        features, targets = old()
        with v1.train.MonitoredSession() as session:
            while not session.should_stop():
                try:
                    found, target = session.run([features, targets])
                except tf.errors.OutOfRangeError:
                    break
                rows.append((found["a"].tolist(), found["b"].tolist(), target.tolist()))
    new = estimator_io.numpy_input_fn(X, Y, batch_size=4, num_epochs=2, shuffle=False)
    ours = [(f["a"].tolist(), f["b"].tolist(), y.tolist()) for f, y in draw(lambda: new(), "graph")]
    assert ours == rows
