"""How far the Estimator goes ahead of Keras, by a clock that the test turns."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

import migration
from migration.model_fn.ahead import Block, StepsAhead
from tests.migration.model_fn.conftest import Losses, slope_model_fn, steps_of_slope

v1 = tf.compat.v1
X = np.ones(4, np.float32)


def ones():
    return tf.data.Dataset.from_tensors((X, 2 * X)).repeat()


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def blocks(step_seconds: list[float]) -> list[int]:
    """Returns the length of each block where the steps of a block take so many seconds each."""
    clock, lengths = Clock(), []
    block = Block(clock)
    block.took(1)
    for seconds in step_seconds:
        lengths.append(block.steps)
        clock.now += seconds * block.steps
        block.took(block.steps)
    return lengths


def test_blocks_of_short_steps_double_up_to_the_most():
    assert blocks([0.0001] * 9) == [1, 2, 4, 8, 16, 32, 64, 64, 64]


def test_a_step_that_is_longer_than_a_block_goes_alone():
    assert blocks([0.5] * 4) == [1, 1, 1, 1]


def test_blocks_shrink_at_once_when_steps_become_slow():
    assert blocks([1 / 1024] * 5 + [1 / 128, 1 / 128])[-2:] == [20, 2]


def test_steps_follow_up_to_the_end_of_the_epoch():
    ahead = StepsAhead({"steps_per_epoch": 4}, True)
    assert [ahead.next() for _ in range(9)] == [3, 2, 1, 0, 3, 2, 1, 0, 3]


def test_no_step_follows_where_the_end_is_unknown_or_something_looks():
    class Looking(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            pass

    class Between(tf.keras.callbacks.Callback):
        def on_epoch_end(self, epoch, logs=None):
            pass

    looking = tf.keras.callbacks.LambdaCallback(on_train_batch_begin=lambda batch, logs: None)
    steps = {"steps_per_epoch": 9}
    for arguments, in_graph in (
        ({}, True),
        (steps, False),
        ({**steps, "callbacks": Looking()}, True),
        ({**steps, "callbacks": [Between(), Looking()]}, True),
        ({**steps, "callbacks": (looking,)}, True),
    ):
        assert StepsAhead(arguments, in_graph).next() == 0
    assert StepsAhead({**steps, "callbacks": [Between()]}, True).next() == 8


def test_a_stop_within_a_block_loses_no_loss_and_takes_no_step_too_many(tmp_path):
    stop = v1.train.StopAtStepHook(last_step=157)
    model = migration.ModelFnModel(slope_model_fn, model_dir=str(tmp_path), hooks=[stop])
    history = model.fit(ones, steps_per_epoch=100, epochs=3, verbose=0).history["loss"]
    slope, losses = steps_of_slope(157)
    np.testing.assert_allclose(history, [losses[99], losses[156]], rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(model.get_variable_value("slope"), slope, rtol=1e-6)
    assert model.global_step == 157


def test_keras_takes_every_step_that_the_estimator_took(tmp_path):
    seen, taken = Losses(), []

    class Noting(migration.ModelFnModel):
        def make_train_function(self, force=False):
            step = super().make_train_function(force)
            self.train_function = lambda iterator: taken.append(step(iterator)) or taken[-1]
            return self.train_function

    model = Noting(slope_model_fn, model_dir=str(tmp_path), hooks=[seen])
    validation = {"validation_data": (X, 2 * X), "validation_batch_size": 1}
    history = model.fit(ones, steps_per_epoch=130, epochs=2, verbose=0, **validation).history
    losses = steps_of_slope(260)[1]
    assert model.global_step == len(seen.values) == 260
    np.testing.assert_allclose(history["loss"], [losses[129], losses[259]], rtol=1e-4, atol=1e-10)
    # A turn of Keras 2 takes several steps, and gives the loss of the last one.
    turns = [float(logs["loss"]) for logs in taken]
    rest = iter(losses)
    assert all(any(np.isclose(turn, loss, 1e-4, 1e-10) for loss in rest) for turn in turns)
    assert (len(turns) < 260) == hasattr(model, "_steps_per_execution")


def test_an_error_within_a_block_comes_behind_the_steps_before_it(tmp_path):
    class Failing(v1.train.SessionRunHook):
        steps = 0

        def after_run(self, run_context, run_values):
            self.steps += 1
            if self.steps == 70:
                raise ValueError("the seventieth")

    hook = Failing()
    model = migration.ModelFnModel(slope_model_fn, model_dir=str(tmp_path), hooks=[hook])
    with pytest.raises(ValueError, match="the seventieth"):
        model.fit(ones, steps_per_epoch=100, verbose=0)
    assert hook.steps == 70
