"""What hooks, callbacks and threads may ask of a ModelFnModel while fit runs, and how fit ends."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import tensorflow as tf

import migration
from estimator_io.errors import ModeError, OptionError, SourceError
from tests.migration.model_fn.conftest import slope_model_fn, steps_of_slope

v1 = tf.compat.v1
X = np.ones(4, np.float32)


def ones():
    return tf.data.Dataset.from_tensors((X, 2 * X)).repeat()


def features():
    return tf.data.Dataset.from_tensors(X)


class AtStep(v1.train.SessionRunHook):
    """Calls `function` behind each step and keeps what came."""

    def __init__(self, function):
        self.function = function
        self.seen = []

    def after_run(self, run_context, run_values):
        try:
            self.seen.append(self.function())
        except ModeError as error:
            self.seen.append(str(error))


def model_of(folder, **kwargs):
    return migration.ModelFnModel(slope_model_fn, model_dir=str(folder), **kwargs)


def test_a_hook_may_ask_for_the_step_and_for_variables(tmp_path):
    hook = AtStep(lambda: (model.global_step, float(model.get_variable_value("slope"))))
    model = model_of(tmp_path, hooks=[hook])
    model.fit(ones, steps_per_epoch=5, verbose=0)
    steps, slopes = zip(*hook.seen, strict=True)
    assert steps == (1, 2, 3, 4, 5)
    np.testing.assert_allclose(slopes, [steps_of_slope(n)[0] for n in steps], rtol=1e-6)


@pytest.mark.parametrize("method", ["fit", "evaluate", "predict"])
def test_a_hook_that_calls_a_loop_of_keras_is_told_what_to_do(tmp_path, method):
    hook = AtStep(lambda: getattr(model, method)(features))
    model = model_of(tmp_path, hooks=[hook])
    model.fit(ones, steps_per_epoch=1, verbose=0)
    assert f"{method} was called within a graph" in hook.seen[0]
    assert "callback" in hook.seen[0]


def test_another_thread_may_ask_for_the_step(tmp_path):
    model, seen, enough = model_of(tmp_path), [], threading.Event()

    def look():
        while not enough.is_set():
            seen.append(model.global_step)

    thread = threading.Thread(target=look, daemon=True)
    thread.start()
    try:
        model.fit(ones, steps_per_epoch=300, epochs=2, verbose=0)
    finally:
        enough.set()
        thread.join(60)
    assert not thread.is_alive()
    assert model.global_step == 600
    assert seen == sorted(seen)


def test_a_callback_predicts_and_evaluates_wherever_it_is_called(tmp_path):
    class Looking(tf.keras.callbacks.Callback):
        def __init__(self):
            super().__init__()
            self.seen = []

        def on_epoch_begin(self, epoch, logs=None):
            self.look()

        def on_epoch_end(self, epoch, logs=None):
            self.look()

        def look(self):
            self.seen.append(float(self.model.predict(features, verbose=0)[0]))
            self.model.evaluate(ones, steps=1, verbose=0)

    looking = Looking()
    model_of(tmp_path).fit(ones, steps_per_epoch=3, epochs=2, verbose=0, callbacks=[looking])
    expected = [steps_of_slope(n)[0] for n in (0, 3, 3, 6)]
    np.testing.assert_allclose(looking.seen, expected, rtol=1e-6)


def test_a_fit_within_fit_is_refused_and_the_outer_one_can_be_repeated(tmp_path):
    model = model_of(tmp_path)
    again = tf.keras.callbacks.LambdaCallback(
        on_epoch_end=lambda epoch, logs: model.fit(ones, steps_per_epoch=1, verbose=0)
    )
    with pytest.raises(ModeError, match="while fit runs"):
        model.fit(ones, steps_per_epoch=2, verbose=0, callbacks=[again])
    model.fit(ones, steps_per_epoch=2, verbose=0)
    assert model.global_step == 2


def test_training_ends_with_the_data_and_makes_no_epochs_of_nothing(tmp_path):
    model = model_of(tmp_path)
    history = model.fit(lambda: ones().take(6), steps_per_epoch=3, epochs=9, verbose=0)
    # That there was no seventh batch shows when it is asked for, in an epoch that is the last.
    assert history.epoch == [0, 1, 2]
    assert model.global_step == 6


@pytest.mark.parametrize("steps", [None, 3])
def test_training_without_a_batch_says_so_and_trains_nothing(tmp_path, steps, caplog):
    model = model_of(tmp_path)
    history = model.fit(lambda: ones().take(0), steps_per_epoch=steps, epochs=3, verbose=0)
    assert history.history == {}
    assert "fit took no step" in caplog.text
    assert model.global_step == 0


def test_an_epoch_of_no_steps_is_refused(tmp_path):
    with pytest.raises(OptionError, match="steps_per_epoch must be 1 or more"):
        model_of(tmp_path).fit(ones, steps_per_epoch=0, verbose=0)


def test_a_warm_start_takes_the_old_weights_and_refuses_a_folder_without_any(tmp_path):
    old = model_of(tmp_path / "old")
    old.fit(ones, steps_per_epoch=4, verbose=0)
    new = model_of(tmp_path / "new", warm_start_from=str(tmp_path / "old"))
    new.fit(ones, steps_per_epoch=2, verbose=0)
    assert new.global_step == 2
    np.testing.assert_allclose(new.get_variable_value("slope"), steps_of_slope(6)[0], rtol=1e-6)
    lost = model_of(tmp_path / "lost", warm_start_from=str(tmp_path / "nothing"))
    with pytest.raises(SourceError, match=r"warm_start_from names no checkpoint.*nothing"):
        lost.fit(ones, steps_per_epoch=2, verbose=0)
