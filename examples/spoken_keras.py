"""Which language is spoken? The input_fn of spoken_fast.py under model.fit, unchanged.

Runs on Keras 2.15 and on Keras 3. What an Estimator program feeds its model with serves the Keras
program that replaces it.
"""

import argparse

import tensorflow as tf
from spoken_fast import LANGUAGES, input_fn

EPOCHS = 3  # after each of which the model is evaluated


def build_model(spectrogram_shape):
    layers = tf.keras.layers
    spectrogram = tf.keras.Input(spectrogram_shape, name="spectrogram")
    net = layers.Rescaling(0.5, offset=2.0)(spectrogram)
    net = layers.Conv1D(32, 5, strides=2, activation="relu")(net)
    net = layers.Conv1D(32, 5, strides=2, activation="relu")(net)
    logits = layers.Dense(len(LANGUAGES))(layers.GlobalAveragePooling1D()(net))
    model = tf.keras.Model({"spectrogram": spectrogram}, logits)
    model.compile(
        optimizer=tf.keras.optimizers.Adam(2e-3),
        loss=tf.keras.losses.SparseCategoricalCrossentropy(from_logits=True),
        metrics=["accuracy"],
    )
    return model


def main():
    parser = argparse.ArgumentParser(description="Train on examples/data/spoken.")
    parser.add_argument("--data", default="examples/data/spoken")
    parser.add_argument("--steps", type=int, default=150)
    arguments = parser.parse_args()

    train = input_fn(arguments.data, "train")
    validation = input_fn(arguments.data, "validation")
    features, _ = train.element_spec
    history = build_model(features["spectrogram"].shape[1:]).fit(
        train.dataset("train"),
        steps_per_epoch=arguments.steps // EPOCHS,
        epochs=EPOCHS,
        validation_data=validation.dataset("eval"),
        verbose=0,
    )
    accuracy = history.history["val_accuracy"][-1]
    print(f"accuracy {accuracy:.2f} after {arguments.steps // EPOCHS * EPOCHS} steps")


if __name__ == "__main__":
    main()
