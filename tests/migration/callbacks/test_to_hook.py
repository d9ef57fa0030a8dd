"""Keras callbacks under the Estimator."""

import numpy as np
import pytest
import tensorflow as tf

import migration
from estimator_io.errors import OptionError
from tests.migration.callbacks import programs
from tests.migration.callbacks.programs import STEPS, under_estimator

v1 = tf.compat.v1


class Calls(tf.keras.callbacks.Callback):
    """Every call, in the order of fit, with its number and loss."""

    def __init__(self, stop_at=None):
        super().__init__()
        self.calls = []
        self.stop_at = stop_at

    def on_train_begin(self, logs=None):
        self.calls.append(("train begins", int(self.model.optimizer.iterations)))

    def on_epoch_begin(self, epoch, logs=None):
        self.calls.append(("epoch begins", epoch))

    def on_train_batch_begin(self, batch, logs=None):
        self.calls.append(("batch begins", batch))

    def on_train_batch_end(self, batch, logs=None):
        step = int(self.model.optimizer.iterations)
        self.calls.append(("batch ends", batch, step, round(float(logs["loss"]), 4)))
        if step == self.stop_at:
            self.model.stop_training = True

    def on_epoch_end(self, epoch, logs=None):
        self.calls.append(("epoch ends", epoch))

    def on_train_end(self, logs=None):
        self.calls.append(("train ends",))


def test_a_callback_sees_what_it_sees_under_fit(tmp_path):
    expected, found = Calls(), Calls()
    # Batches of one step each, as one epoch; the loss of fit is a mean, so it is that of the first.
    model = programs.keras_model()
    model.fit(
        programs.dataset(), steps_per_epoch=STEPS, verbose=0, callbacks=[expected], shuffle=False
    )
    assert under_estimator([migration.to_hook(found)], tmp_path) == STEPS
    assert [call[:3] for call in found.calls] == [call[:3] for call in expected.calls]
    assert found.calls[3] == expected.calls[3]


def test_losses_are_those_of_the_batches(tmp_path):
    losses, callback = [], Calls()

    class Losses(v1.train.SessionRunHook):
        def before_run(self, run_context):
            return v1.train.SessionRunArgs("loss:0")

        def after_run(self, run_context, run_values):
            losses.append(round(float(run_values.results), 4))

    under_estimator([migration.to_hook(callback), Losses()], tmp_path)
    assert [call[3] for call in callback.calls if call[0] == "batch ends"] == losses


def test_stop_training_stops_at_that_step(tmp_path):
    callback = Calls(stop_at=5)
    assert under_estimator([migration.to_hook(callback)], tmp_path) == 5
    assert callback.calls[-1] == ("train ends",)


def test_each_call_of_train_is_an_epoch(tmp_path):
    callback = Calls()
    hook = migration.to_hook(callback)
    estimator = tf.estimator.Estimator(programs.model_fn, str(tmp_path))
    for _ in range(2):
        estimator.train(programs.dataset, hooks=[hook], steps=2)
    begins = [call for call in callback.calls if call[0] in ("train begins", "epoch begins")]
    assert begins == [
        ("train begins", 0),
        ("epoch begins", 0),
        ("train begins", 2),
        ("epoch begins", 1),
    ]


def test_callbacks_of_keras_work(tmp_path):
    history = tf.keras.callbacks.History()
    log = tf.keras.callbacks.CSVLogger(str(tmp_path / "log.csv"))
    hooks = [migration.to_hook(history, tensors={"slope": "slope"}), migration.to_hook(log)]
    under_estimator(hooks, tmp_path / "model")
    assert set(history.history) == {"loss", "slope"}
    assert (tmp_path / "log.csv").read_text().startswith("epoch,loss")
    nan = migration.to_hook(tf.keras.callbacks.TerminateOnNaN())
    with pytest.raises(v1.train.NanLossDuringTrainingError):  # the Estimator's own
        under_estimator([nan], tmp_path / "nan", bad_batch=2)
    assert nan._model.stop_training


def test_a_callback_that_needs_a_keras_model_is_told_so(tmp_path):
    class Weights(tf.keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            self.model.get_weights()

    with pytest.raises(OptionError, match=r"Weights asks for model\.get_weights"):
        under_estimator([migration.to_hook(Weights())], tmp_path)
    assert not hasattr(migration.to_hook(Weights())._model, "save")


@pytest.mark.parametrize(
    ("callback", "named"),
    [
        (tf.keras.callbacks.ModelCheckpoint("x.keras"), "RunConfig"),
        (tf.keras.callbacks.ReduceLROnPlateau(), "schedule"),
        (tf.keras.callbacks.EarlyStopping(restore_best_weights=True), "BestExporter"),
        (v1.train.StopAtStepHook(1), "to_hook takes a keras"),
    ],
)
def test_what_is_about_weights_is_refused_before_training(callback, named):
    with pytest.raises(OptionError, match=named):
        migration.to_hook(callback)


def test_a_class_is_no_callback():
    with pytest.raises(OptionError, match=r"Received: <class .*CSVLogger"):
        migration.to_hook(tf.keras.callbacks.CSVLogger)


def test_early_stopping_of_keras_is_taken():
    migration.to_hook(tf.keras.callbacks.EarlyStopping("loss"))


def test_a_tensor_that_is_not_there_is_an_error_before_training(tmp_path):
    with pytest.raises(KeyError, match="no_such"):
        under_estimator([migration.to_hook(Calls(), tensors={"x": "no_such"})], tmp_path)
    np.testing.assert_array_equal(list(tmp_path.glob("model.ckpt*")), [])
