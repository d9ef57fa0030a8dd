"""Pipelines that give no batch, and programs that fail: one line that names the place."""

import threading

import pytest
import tensorflow as tf

import estimator_io
from estimator_io.errors import NoDataError, OptionError, ProfileError
from estimator_io.profiling.costs import costs_of
from estimator_io.profiling.emptiness import check_batches
from estimator_io.profiling.target import chain_of_target
from estimator_io.profiling.threads import NAME, joined, start

RANGE = tf.data.Dataset.range


def profile(target, **options):
    return estimator_io.profile(target, **{"seconds": 1, **options})


def five():
    yield from range(5)


FIVE = tf.TensorSpec([], tf.int64)
TOO_FEW = {
    "counted": lambda: RANGE(5).batch(8, drop_remainder=True).map(lambda x: x + 1),
    "filtered": lambda: RANGE(9).filter(lambda x: x < 5).batch(8, drop_remainder=True),
    "generated": lambda: tf.data.Dataset.from_generator(five, output_signature=FIVE).batch(8, True),
    "padded": lambda: RANGE(5).padded_batch(8, drop_remainder=True).prefetch(1),
}


@pytest.mark.parametrize("name", TOO_FEW)
def test_a_pass_that_fills_no_batch_is_no_data(name):
    with pytest.raises(NoDataError, match=r"leaves the step '(padded_)?batch'.*drop_remainder"):
        profile(TOO_FEW[name])


def test_a_take_of_nothing_is_no_data():
    with pytest.raises(NoDataError, match="take"):
        profile(RANGE(8).batch(2).take(0))


@pytest.mark.parametrize(
    "pipeline",
    [
        lambda: RANGE(9).filter(lambda x: x < 5).repeat().batch(8, drop_remainder=True),
        lambda: RANGE(9).filter(lambda x: x < 5).batch(8),
        lambda: RANGE(99).filter(lambda x: x > 80).batch(8, drop_remainder=True),
    ],
)
def test_a_pass_that_fills_one_is_not(pipeline):
    chain = chain_of_target(pipeline(), "train", None)
    check_batches(chain, costs_of(chain, 0.3)[0])


def failing():
    raise KeyError("wobble")


def missing():
    return tf.data.Dataset.from_tensor_slices(["/nowhere/a"]).map(tf.io.read_file).batch(2)


def no_records():
    return tf.data.TFRecordDataset(["/nowhere/b"]).batch(2)


def _late(x):
    def fail(value):
        if value > 2:
            raise ValueError(f"the row {value} is bad\nin many lines")
        return value

    return tf.numpy_function(fail, [x], tf.int64)


def late():
    return RANGE(100).map(_late)


HERE = "tests/profiling/test_failing.py"


@pytest.mark.parametrize(
    ("target", "pieces"),
    [
        (failing, (f"{HERE}:{failing.__code__.co_firstlineno + 1}", "KeyError", "wobble")),
        (missing, (f"'map' at {HERE}:{missing.__code__.co_firstlineno + 1}", "/nowhere/a")),
        (no_records, (f"at {HERE}:{no_records.__code__.co_firstlineno + 1}", "/nowhere/b")),
        (late, (f"{HERE}:{late.__code__.co_firstlineno + 1}", "ValueError: the row 3 is bad")),
    ],
)
def test_a_failure_is_told_in_one_line_with_its_place(target, pieces):
    with pytest.raises(ProfileError) as failed:
        profile(target)
    text = str(failed.value)
    assert "\n" not in text
    assert "{{" not in text
    assert "Op:" not in text
    for piece in pieces:
        assert piece in text


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"step_seconds": "0.1"}, "'0.1'. Expected: seconds above 0"),
        ({"step_seconds": True}, "True. Expected: seconds above 0"),
        ({"seconds": "2"}, "'2'. Expected: 1 or more"),
        ({"seconds": float("inf")}, "inf. Expected: 1 or more"),
        ({"mode": "training"}, "'training'. Expected: one of 'train', 'eval', 'infer'"),
    ],
)
def test_arguments_of_another_kind_are_refused(options, words):
    with pytest.raises(OptionError) as failed:
        profile(RANGE(8), **options)
    assert words in str(failed.value)


def test_threads_of_a_profile_have_ended_when_it_returns():
    go = threading.Event()
    with joined():
        thread = start(go.wait)
        assert (thread.is_alive(), thread.name) == (True, NAME)
        threading.Timer(0.2, go.set).start()
    assert not thread.is_alive()


def test_one_that_is_stuck_is_not_waited_for_for_ever():
    go = threading.Event()
    with joined(patience=0.05):
        thread = start(go.wait)
    assert thread.is_alive()
    go.set()
    thread.join()
