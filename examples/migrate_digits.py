"""Which language is the number said in? From an Estimator to Keras, each step proved by numbers.

`python examples/migrate_digits.py` takes the steps of docs/migrate.md with one model_fn and prints
what each one found. Runs on TensorFlow 2.15 to 2.21, with Keras 2.15 or Keras 3.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import numpy as np
import tensorflow as tf

import estimator_io
import migration

estimator_io.compat.install()
v1 = tf.compat.v1

LANGUAGES = ["en", "es", "fr", "it", "ru"]
STEPS = 20
PARTS = (("train", "train"), ("validation", "eval"))  # of the recordings, and the mode


def to_spectrograms(features: Any, labels: Any) -> Any:
    spectrum = tf.signal.stft(features["audio"], frame_length=256, frame_step=128)
    return {"spectrogram": tf.math.log(tf.abs(spectrum) + 1e-3)}, labels


def input_fn(data: str, part: str) -> Any:
    return estimator_io.audio_input_fn(
        os.path.join(data, "*", "digits_*.wav"),
        length=8000,  # samples: one second
        split=(part, 0.8),
        batch_size=32,
        batch_map=to_spectrograms,
        seed=1,
    )


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """The program as it was."""
    training = mode == tf.estimator.ModeKeys.TRAIN
    net = (features["spectrogram"] + 4) / 2
    net = v1.layers.conv1d(net, 16, 5, strides=2, activation=tf.nn.relu, name="conv")
    net = v1.layers.batch_normalization(net, training=training, name="norm")
    logits = v1.layers.dense(tf.reduce_mean(net, axis=1), len(LANGUAGES), name="logits")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"logits": logits})
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    accuracy = v1.metrics.accuracy(labels, tf.argmax(logits, axis=-1))
    optimizer = v1.train.AdamOptimizer(2e-3)
    with tf.control_dependencies(v1.get_collection(v1.GraphKeys.UPDATE_OPS)):
        train_op = optimizer.minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metric_ops={"accuracy": accuracy}
    )


def estimator(model_dir: str | None = None) -> Any:
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=1)
    return tf.estimator.Estimator(model_fn, config=config)


def keras_model(epsilon: float = 1e-8, momentum: float = 0.99) -> Any:
    """The same network in Keras; the arguments are what a port forgets first."""
    betas = [float(np.float32(beta)) for beta in (0.9, 0.999)]  # as TensorFlow's kernel has them
    layers = tf.keras.layers
    spectrogram = tf.keras.Input((61, 129), name="spectrogram")
    net = layers.Rescaling(0.5, offset=2.0)(spectrogram)
    net = layers.Conv1D(16, 5, strides=2, activation="relu", name="conv")(net)
    net = layers.BatchNormalization(momentum=momentum, name="norm")(net)
    net = layers.GlobalAveragePooling1D()(net)
    logits = layers.Dense(len(LANGUAGES), name="logits")(net)
    model = tf.keras.Model({"spectrogram": spectrogram}, logits)
    model.compile(
        tf.keras.optimizers.Adam(2e-3, *betas, epsilon=epsilon),
        tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def step_1_estimator(data: str, model_dir: str) -> float:
    """The Estimator on a new TensorFlow."""
    trained = estimator(model_dir).train(input_fn(data, "train"), steps=STEPS)
    return float(trained.evaluate(input_fn(data, "validation"))["loss"])


def step_2_data(data: str) -> float:
    """The same input function under fit of an unproved Keras model."""
    train, validation = (migration.to_dataset(input_fn(data, part), mode) for part, mode in PARTS)
    model = keras_model()
    model.fit(train, steps_per_epoch=STEPS, validation_data=validation, verbose=0)
    return float(model.evaluate(validation, verbose=0)[0])


def step_3_model_fn(data: str, model_dir: str, checkpoint: str) -> float:
    """The same model_fn under fit, from what step 1 began with: the loss of step 1."""
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=1)
    model = migration.ModelFnModel(model_fn, config=config)
    model.load_weights(checkpoint)
    model.fit(input_fn(data, "train"), steps_per_epoch=STEPS, verbose=0)
    return float(model.evaluate(input_fn(data, "validation"), verbose=0)[0])


def step_4_loop(data: str, model_dir: str, checkpoint: str) -> float:
    """The Keras model in the Estimator's loop, with a hook and an exporter, from the same start."""
    model = keras_model()
    migration.load_estimator_weights(model, checkpoint)
    train, test = input_fn(data, "train"), input_fn(data, "validation")
    migration.train_and_evaluate(
        model,
        tf.estimator.TrainSpec(
            train,
            max_steps=STEPS,
            hooks=[tf.estimator.LoggingTensorHook(["loss"], every_n_iter=10)],
        ),
        tf.estimator.EvalSpec(
            test,
            steps=None,
            exporters=migration.BestExporter("best", train.serving_input_receiver_fn()),
            throttle_secs=0,
        ),
        tf.estimator.RunConfig(model_dir, save_checkpoints_steps=STEPS),
    )
    # The Estimator's loss is the mean over batches, of which the last one is smaller here.
    batches = migration.to_dataset(test, "eval")
    losses = [model.evaluate(x, y, batch_size=len(y), verbose=0)[0] for x, y in batches]
    return float(np.mean(losses))


def step_5_proof(data: str, **changed: float) -> Any:
    """The Keras model beside the Estimator, batch by batch."""
    # Batch normalisation and Adam enlarge what rounding makes of the sums of a convolution.
    return migration.compare(
        estimator(), keras_model(**changed), input_fn(data, "train"), STEPS, rtol=1e-4
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="From an Estimator to Keras.")
    parser.add_argument("--data", default="examples/data/spoken")
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        print(f"step 1: evaluation loss {step_1_estimator(data, folder + '/1'):.6f}")
        print(f"step 2: evaluation loss {step_2_data(data):.6f}, from other starting weights")
        begin = folder + "/1/model.ckpt-0"
        print(f"step 3: evaluation loss {step_3_model_fn(data, folder + '/3', begin):.6f}")
        print(f"step 4: evaluation loss {step_4_loop(data, folder + '/4', begin):.6f}")
    print(f"step 5: {step_5_proof(data)}")
    print(f"step 5, with a forgotten momentum: {step_5_proof(data, momentum=0.9)}")


if __name__ == "__main__":
    main()
