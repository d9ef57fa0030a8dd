"""ProgressHook on a terminal and without one."""

import io
import os
import pty
import re

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from tests.hooks.test_monitor import STEPS, by_estimator, by_fit, by_model_fn_model, keras_model

v1 = tf.compat.v1


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture(autouse=True)
def _estimator():
    estimator_io.compat.install()


@pytest.mark.parametrize("way", [by_estimator, by_fit, by_model_fn_model])
def test_a_terminal_shows_step_rate_loss_and_waiting(way, tmp_path):
    stream = Terminal()
    total = None if way is by_fit else STEPS
    progress = estimator_io.ProgressHook(total, stream=stream, refresh_seconds=0.0)
    way(progress, tmp_path, True, False)
    last = stream.getvalue().split("\r")[-1]
    assert f"{STEPS}/{STEPS}" in last
    assert re.search(r"(step/s|s/step)", last)
    assert re.search(r"loss \d", last)
    assert re.search(r"input wait \d+%", last)


def test_what_is_shown_begins_at_the_restored_step(tmp_path):
    by_estimator(estimator_io.ProgressHook(stream=io.StringIO()), tmp_path, False, False)
    stream = Terminal()
    by_estimator(estimator_io.ProgressHook(2 * STEPS, stream=stream), tmp_path, False, False)
    assert f"{2 * STEPS}/{2 * STEPS}" in stream.getvalue()


@pytest.mark.parametrize("way", [by_estimator, by_fit])
def test_without_a_terminal_nothing_is_shown_or_added(way, tmp_path):
    stream = io.StringIO()
    progress = estimator_io.ProgressHook(stream=stream)
    operations = []

    class Count(v1.train.SessionRunHook):
        def begin(self):
            before = len(v1.get_default_graph().get_operations())
            progress.begin()
            operations.append(len(v1.get_default_graph().get_operations()) - before)

    way(progress, tmp_path, False, False)
    assert stream.getvalue() == ""
    with tf.Graph().as_default():
        Count().begin()
    assert operations == [0]


def test_a_call_that_fails_leaves_the_next_one_a_bar_of_its_own():
    stream = Terminal()
    progress = estimator_io.ProgressHook(stream=stream)
    model = keras_model()

    def fail(batch, logs=None):
        raise RuntimeError("from another callback")

    x = np.ones((4, 1))
    other = tf.keras.callbacks.LambdaCallback(on_train_batch_end=fail)
    with pytest.raises(RuntimeError, match="another callback"):
        model.fit(x, x, batch_size=1, verbose=0, callbacks=[progress, other])
    model.fit(x, x, batch_size=1, verbose=0, callbacks=[progress])
    assert "5/5" in stream.getvalue()  # one step before the failure, four after it


def test_a_terminal_without_a_width_shows_the_bar(tmp_path):
    controller, terminal = pty.openpty()  # of 0 columns
    with os.fdopen(terminal, "w") as stream, os.fdopen(controller, "rb", buffering=0) as screen:
        progress = estimator_io.ProgressHook(STEPS, stream=stream)
        progress.began(0, None)
        progress.ended()
        stream.flush()
        assert f"0/{STEPS}".encode() in screen.read(4096)
