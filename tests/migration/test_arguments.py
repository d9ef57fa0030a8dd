"""TrainSpec and EvalSpec as arguments of fit: the same steps."""

import logging

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
import migration
from estimator_io import compat
from estimator_io.errors import OptionError, SourceError


@pytest.fixture(autouse=True)
def _estimator():
    compat.install()


def rows(count):
    x = np.arange(count, dtype=np.float32)
    return {"x": x}, x


def input_fn(count=10):
    return lambda: tf.data.Dataset.from_tensor_slices(rows(count)).batch(1)


def model():
    x = tf.keras.Input((1,), name="x")
    made = tf.keras.Model({"x": x}, tf.keras.layers.Dense(1, kernel_initializer="zeros")(x))
    made.compile(tf.keras.optimizers.SGD(1e-4), "mse", jit_compile=False)
    return made


class Seen(tf.keras.callbacks.Callback):
    """Counts batches by epoch."""

    def __init__(self):
        super().__init__()
        self.epochs = []

    def on_epoch_begin(self, epoch, logs=None):
        self.epochs.append(0)

    def on_train_batch_end(self, batch, logs=None):
        self.epochs[-1] += 1


def fit(made, train_spec, eval_spec=None, **options):
    arguments = migration.fit_arguments(train_spec, eval_spec, made, **options)
    seen = Seen()
    arguments["callbacks"].append(seen)
    history = made.fit(verbose=0, **arguments)
    return seen.epochs, history.history


@pytest.mark.filterwarnings("error:.*ran out of data.*")
def test_thirty_steps_are_five_epochs_of_six_whatever_the_length_of_the_data():
    """tensorflow#25254: Keras 2.15 stopped after 10 batches, 3.15 took 6, 4, 6, 4, 6."""
    train_spec = tf.estimator.TrainSpec(input_fn(10), max_steps=30)
    eval_spec = tf.estimator.EvalSpec(input_fn(3), steps=100)
    made = model()
    epochs, history = fit(made, train_spec, eval_spec, steps_per_epoch=6)
    assert epochs == [6] * 5
    assert int(made.optimizer.iterations) == 30
    assert len(history["val_loss"]) == 5


def test_a_last_epoch_may_be_shorter_and_checkpoints_give_the_epochs():
    config = tf.estimator.RunConfig(save_checkpoints_steps=4)
    epochs, _ = fit(model(), tf.estimator.TrainSpec(input_fn(), max_steps=10), config=config)
    assert epochs == [4, 4, 2]


def test_a_restored_model_takes_the_steps_that_are_left(caplog):
    made = model()
    fit(made, tf.estimator.TrainSpec(input_fn(), max_steps=7))
    epochs, _ = fit(made, tf.estimator.TrainSpec(input_fn(), max_steps=10), steps_per_epoch=2)
    assert epochs == [2, 1]
    with caplog.at_level(logging.WARNING, "estimator_io"):
        epochs, _ = fit(made, tf.estimator.TrainSpec(input_fn(), max_steps=10))
    assert epochs == []
    assert caplog.text.count("nothing to do: max_steps=10") == 1


def test_data_may_end_training_as_under_the_estimator():
    train_spec = tf.estimator.TrainSpec(input_fn(5), max_steps=30)
    epochs, _ = fit(model(), train_spec, repeat=False)
    assert epochs == [5]
    epochs, _ = fit(model(), tf.estimator.TrainSpec(input_fn(5)))
    assert epochs == [5]


def test_data_of_unknown_length_ends_training_with_its_last_batch():
    def unknown():
        return input_fn(5)().filter(lambda *_: True)

    for max_steps, last in ((30, 5), (3, 3)):
        made = model()
        fit(made, tf.estimator.TrainSpec(unknown, max_steps=max_steps), repeat=False)
        assert int(made.optimizer.iterations) == last


def test_executions_of_several_steps_come_out_even_or_are_refused():
    made = model()
    made.compile("sgd", "mse", jit_compile=False, steps_per_execution=2)
    fit(made, tf.estimator.TrainSpec(input_fn(), max_steps=6), steps_per_epoch=4)
    assert int(made.optimizer.iterations) == 6
    uneven = tf.estimator.TrainSpec(input_fn(), max_steps=11)
    with pytest.raises(OptionError, match="steps_per_execution=2, with 5 steps to take in epochs"):
        migration.fit_arguments(uneven, None, made, steps_per_epoch=4)


def test_an_input_fn_goes_on_at_its_position(tmp_path):
    fn = estimator_io.input_fn(rows(8), batch_size=2, epochs=1, seed=3)
    config = tf.estimator.RunConfig(str(tmp_path))
    trained = []

    def loss(labels, predictions):
        noted = tf.numpy_function(
            lambda y: trained.append(y.ravel().tolist()) or y, [labels], "float32"
        )
        return tf.square(tf.ensure_shape(noted, [None, 1]) - predictions)

    made = model()
    made.compile("sgd", loss, jit_compile=False)
    for max_steps in (3, 8):
        train_spec = tf.estimator.TrainSpec(fn, max_steps=max_steps)
        made.fit(verbose=0, **migration.fit_arguments(train_spec, model=made, config=config))
    endless = fn.replace(epochs=None).dataset("train").take(8)
    assert trained == [labels.numpy().tolist() for _, labels in endless]


def test_training_without_an_end_is_refused():
    endless = tf.estimator.TrainSpec(lambda: input_fn()().repeat())
    with pytest.raises(OptionError, match="Training would never end"):
        migration.fit_arguments(endless, model=model())
    with pytest.raises(OptionError, match=r"no TrainSpec\. Received: dict"):
        migration.fit_arguments({}, model=model())


def test_validation_without_an_end_or_on_several_data_sets_is_refused():
    train_spec = tf.estimator.TrainSpec(input_fn(), max_steps=1)
    endless = tf.estimator.EvalSpec(lambda: input_fn()().repeat(), steps=None)
    with pytest.raises(SourceError, match="never end"):
        migration.fit_arguments(train_spec, endless, model())
    two = [tf.estimator.EvalSpec(input_fn(), name=name) for name in "ab"]
    with pytest.raises(OptionError, match="Received: 2 EvalSpecs"):
        migration.fit_arguments(train_spec, two, model())
