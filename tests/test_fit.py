"""The same pipelines under model.fit, on whichever Keras is installed."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io


def model(units=1, features=1):
    layers = [
        tf.keras.layers.Input((features,), name="x"),
        tf.keras.layers.Dense(units, kernel_initializer="zeros"),
    ]
    return tf.keras.Sequential(layers)


def linear(n=64, **options):
    x = np.linspace(-1, 1, n, dtype=np.float32)[:, None]
    options = {"batch_size": 16, "seed": 3, **options}
    return estimator_io.input_fn((x, 3 * x[:, 0] + 1), **options)


def test_an_endless_pipeline_trains_a_model_with_steps_per_epoch():
    fn = linear()
    net = model()
    net.compile(tf.keras.optimizers.SGD(0.3), "mse")
    history = net.fit(fn.dataset("train"), steps_per_epoch=20, epochs=5, verbose=0)
    assert len(history.history["loss"]) == 5
    assert net.evaluate(fn.dataset("eval"), verbose=0) < 1e-3
    weights = [float(np.ravel(w)[0]) for w in net.get_weights()]
    assert weights == pytest.approx([3, 1], abs=0.05)


def test_evaluation_and_prediction_see_every_row_once_in_order():
    net = model()
    net.compile("sgd", "mae")
    fn = linear(n=50)
    assert net.predict(fn.dataset("infer"), verbose=0).shape == (50, 1)
    x = np.linspace(-1, 1, 50, dtype=np.float32)
    expected = float(np.mean(np.abs(3 * x + 1)))
    assert net.evaluate(fn.dataset("eval"), verbose=0) == pytest.approx(expected, rel=1e-5)


def test_weights_are_sample_weights():
    x = np.zeros((4, 1), np.float32)
    fn = estimator_io.input_fn((x, np.ones(4), np.array([1.0, 1.0, 1.0, 0.0])), batch_size=4)
    net = model()
    net.compile("sgd", "mse")
    # Keras divides the weighted sum by the number of rows: three rows of loss 1 in four.
    assert net.evaluate(fn.dataset("eval"), verbose=0) == pytest.approx(0.75)


def test_a_finite_pipeline_gives_fit_another_order_in_each_epoch():
    seen = []

    def note(x, y):
        def keep(values):
            seen.append(values[:, 0].tolist())
            return values

        return tf.ensure_shape(tf.numpy_function(keep, [x], tf.float32), [None, 1]), y

    net = model()
    net.compile("sgd", "mse")
    fn = linear(n=32, epochs=1, batch_size=32, batch_map=note, num_parallel_calls=1, check=False)
    net.fit(fn.dataset("train"), epochs=3, verbose=0)
    assert len({tuple(epoch) for epoch in seen}) == 3
    assert len({tuple(sorted(epoch)) for epoch in seen}) == 1


@pytest.mark.parametrize(("epochs", "train"), [(None, tf.data.INFINITE_CARDINALITY), (2, 8)])
def test_keras_is_told_how_many_batches_there_are(epochs, train):
    fn = linear(n=64, epochs=epochs)
    assert fn.dataset("train").cardinality().numpy() == train
    assert fn.dataset("eval").cardinality().numpy() == 4
    filtered = fn.replace(filter=lambda x, y: y > 0)
    assert filtered.dataset("eval").cardinality().numpy() == tf.data.UNKNOWN_CARDINALITY


def test_recordings_train_a_small_network():
    options = {"length": 4000, "batch_size": 32, "seed": 1}

    def spectrum(features, label):
        power = tf.abs(tf.signal.stft(features["audio"], 256, 128)) ** 2
        return tf.reduce_mean(tf.math.log(power + 1e-6), 1), label

    fns = [
        estimator_io.audio_input_fn(
            "examples/data/spoken/**/*.wav", split=(part, 0.8), batch_map=spectrum, **options
        )
        for part in ("train", "validation")
    ]
    net = model(units=5, features=129)
    loss = tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    net.compile(tf.keras.optimizers.Adam(0.01), loss, metrics=["accuracy"])
    history = net.fit(
        fns[0].dataset("train"),
        steps_per_epoch=50,
        epochs=3,
        validation_data=fns[1].dataset("eval"),
        verbose=0,
    )
    assert history.history["val_accuracy"][-1] > 0.45
