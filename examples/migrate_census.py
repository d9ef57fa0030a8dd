"""Who earns more than 50,000 dollars? From an Estimator to Keras, each step proved by numbers.

`python examples/migrate_census.py` takes the steps of docs/migrate.md with one model_fn over
feature columns and prints what each one found. Runs on TensorFlow 2.15 to 2.21, with Keras 2.15 or
Keras 3.
"""

from __future__ import annotations

import argparse
import os
import tempfile
from typing import Any

import tensorflow as tf

import estimator_io
import migration

estimator_io.compat.install()
v1 = tf.compat.v1

STEPS = 30
NUMBERS = {"age": 40.0, "education_num": 10.0, "hours": 40.0}  # column, and its usual size
WORDS = {
    "marital": ["Married-civ-spouse", "Never-married", "Divorced", "Widowed"],
    "workclass": ["Private", "Self-emp-not-inc", "Local-gov", "State-gov", "Federal-gov"],
}
COLUMNS = [
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital", "occupation"),
    *("relationship", "race", "sex", "gain", "loss", "hours", "country", "income"),
]


def input_fn(data: str, part: str) -> Any:
    return estimator_io.csv_input_fn(
        os.path.join(data, part),
        columns=COLUMNS,
        select=[*NUMBERS, *WORDS],
        dtypes=dict.fromkeys(NUMBERS, "float32"),
        label="income",
        classes={"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1},
        comment="|",
        batch_size=50,
        seed=1,
    )


def model_fn(features: Any, labels: Any, mode: str) -> Any:
    """The program as it was."""
    column = tf.feature_column
    columns: list[Any] = [
        column.numeric_column(name, normalizer_fn=lambda value, by=size: value / by)
        for name, size in NUMBERS.items()
    ]
    for name, words in WORDS.items():
        found = column.categorical_column_with_vocabulary_list(name, words, num_oov_buckets=1)
        columns.append(column.indicator_column(found))
    net = v1.feature_column.input_layer(features, columns)
    net = v1.layers.dense(net, 32, tf.nn.relu, name="hidden")
    logits = v1.layers.dense(net, 1, name="logits")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"probability": tf.sigmoid(logits)})
    loss = v1.losses.sigmoid_cross_entropy(labels[:, None], logits)
    accuracy = v1.metrics.accuracy(labels[:, None], logits > 0)
    optimizer = v1.train.AdagradOptimizer(0.1)
    train_op = optimizer.minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metric_ops={"accuracy": accuracy}
    )


def estimator(model_dir: str | None = None) -> Any:
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=1)
    return tf.estimator.Estimator(model_fn, config=config)


class OovLast(tf.keras.layers.Layer):
    """Moves the place of unknown words behind the words, where vocabulary columns have it."""

    def call(self, onehot: Any) -> Any:
        return tf.roll(onehot, -1, axis=-1)


def keras_model(oov_last: bool = True) -> Any:
    """The same network in Keras: features by name in order, as input_layer joins them."""
    layers = tf.keras.layers
    inputs, parts = {}, []
    for name, size in NUMBERS.items():
        inputs[name] = tf.keras.Input((1,), name=name)
        parts.append(layers.Rescaling(1 / size)(inputs[name]))
    for name, words in WORDS.items():
        inputs[name] = tf.keras.Input((1,), name=name, dtype="string")
        onehot = layers.StringLookup(vocabulary=words, output_mode="one_hot")(inputs[name])
        parts.append(OovLast()(onehot) if oov_last else onehot)
    net = layers.Dense(32, "relu", name="hidden")(layers.Concatenate()(parts))
    model = tf.keras.Model(inputs, layers.Dense(1, "sigmoid", name="logits")(net))
    model.compile(tf.keras.optimizers.Adagrad(0.1), "binary_crossentropy", metrics=["accuracy"])
    return model


def step_1_estimator(data: str, model_dir: str) -> float:
    """The Estimator on a new TensorFlow."""
    trained = estimator(model_dir).train(input_fn(data, "adult.data"), steps=STEPS)
    return float(trained.evaluate(input_fn(data, "adult.test"))["loss"])


def step_2_data(data: str) -> float:
    """The same input functions under fit of an unproved Keras model."""
    train = migration.to_dataset(input_fn(data, "adult.data"), "train")
    test = migration.to_dataset(input_fn(data, "adult.test"), "eval")
    model = keras_model()
    model.fit(train, steps_per_epoch=STEPS, validation_data=test, verbose=0)
    return float(model.evaluate(test, verbose=0)[0])


def step_3_model_fn(data: str, model_dir: str, checkpoint: str) -> float:
    """The same model_fn under fit, from what step 1 began with: the loss of step 1."""
    config = tf.estimator.RunConfig(model_dir=model_dir, tf_random_seed=1)
    model = migration.ModelFnModel(model_fn, config=config)
    model.load_weights(checkpoint)
    model.fit(input_fn(data, "adult.data"), steps_per_epoch=STEPS, verbose=0)
    return float(model.evaluate(input_fn(data, "adult.test"), verbose=0)[0])


def step_4_loop(data: str, model_dir: str, checkpoint: str) -> float:
    """The Keras model in the Estimator's loop, with a hook and an exporter, from the same start."""
    model = keras_model()
    migration.load_estimator_weights(model, checkpoint)
    train, test = input_fn(data, "adult.data"), input_fn(data, "adult.test")
    metrics, _ = migration.train_and_evaluate(
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
    return float(metrics["loss"])


def step_5_proof(data: str, **changed: bool) -> Any:
    """The Keras model beside the Estimator, batch by batch."""
    return migration.compare(
        estimator(), keras_model(**changed), input_fn(data, "adult.data"), STEPS
    )


def main() -> None:
    parser = argparse.ArgumentParser(description="From an Estimator to Keras.")
    parser.add_argument("--data", default="examples/data/adult")
    data = parser.parse_args().data
    with tempfile.TemporaryDirectory() as folder:
        print(f"step 1: evaluation loss {step_1_estimator(data, folder + '/1'):.6f}")
        print(f"step 2: evaluation loss {step_2_data(data):.6f}, from other starting weights")
        begin = folder + "/1/model.ckpt-0"
        print(f"step 3: evaluation loss {step_3_model_fn(data, folder + '/3', begin):.6f}")
        print(f"step 4: evaluation loss {step_4_loop(data, folder + '/4', begin):.6f}")
    print(f"step 5: {step_5_proof(data)}")
    print(f"step 5, with unknown words in front: {step_5_proof(data, oov_last=False)}")


if __name__ == "__main__":
    main()
