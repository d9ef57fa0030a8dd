"""Who earns more than 50,000? One TrainSpec and one EvalSpec, run by both loops.

The Estimator's train_and_evaluate and that of `migration` are given the same specs, the same
RunConfig but for its folder, and the same model: a logistic regression, once as a model_fn, once as
Keras layers. Both print the same losses at the same steps, and export when the loss was best.
"""

import argparse
import os
import tempfile

from estimator_io import compat, csv_input_fn

compat.install()  # before TensorFlow's names are used: TensorFlow 2.16 and later have no Estimator

import tensorflow as tf  # noqa: E402

import migration  # noqa: E402

v1 = tf.compat.v1
FEATURES = ("age", "education", "hours")


def input_fn(path):
    names = {"c0": "age", "c4": "education", "c12": "hours"}
    columns = [names.get(f"c{at}", f"c{at}") for at in range(15)]
    return csv_input_fn(
        path,
        columns=columns,
        select=list(FEATURES),
        label="c14",
        classes={"<=50K": 0, "<=50K.": 0, ">50K": 1, ">50K.": 1},
        na_values=["?"],
        comment="|",
        batch_size=50,
        seed=1,
    )


def model_fn(features, labels, mode):
    rows = tf.stack([tf.cast(features[name], tf.float32) / 50 for name in FEATURES], 1)
    weights = v1.get_variable("weights", [3, 1], initializer=v1.zeros_initializer())
    bias = v1.get_variable("bias", [1], initializer=v1.zeros_initializer())
    logits = tf.matmul(rows, weights) + bias
    if mode == tf.estimator.ModeKeys.PREDICT:
        outputs = tf.estimator.export.PredictOutput({"logits": logits})
        return tf.estimator.EstimatorSpec(
            mode, {"logits": logits}, export_outputs={"serving_default": outputs}
        )
    loss = v1.losses.sigmoid_cross_entropy(labels[:, None], logits)
    train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, v1.train.get_global_step())
    right = v1.metrics.accuracy(labels, tf.cast(logits[:, 0] > 0, labels.dtype))
    return tf.estimator.EstimatorSpec(
        mode, loss=loss, train_op=train_op, eval_metric_ops={"accuracy": right}
    )


def build_model():
    layers = tf.keras.layers
    inputs = {name: tf.keras.Input((1,), name=name) for name in FEATURES}
    rows = layers.Rescaling(1 / 50)(layers.Concatenate()(list(inputs.values())))
    logits = layers.Dense(1, kernel_initializer="zeros", name="logits")(rows)
    model = tf.keras.Model(inputs, logits)
    model.compile(
        optimizer=tf.keras.optimizers.SGD(0.1),
        loss=tf.keras.losses.BinaryCrossentropy(from_logits=True),
        metrics=[tf.keras.metrics.BinaryAccuracy("accuracy", threshold=0.0)],
    )
    return model


def main():
    parser = argparse.ArgumentParser(description="Train on examples/data/adult, by both loops.")
    parser.add_argument("--data", default="examples/data/adult")
    parser.add_argument("--model_dir", default=None)
    parser.add_argument("--steps", type=int, default=200)
    arguments = parser.parse_args()

    train = input_fn(os.path.join(arguments.data, "adult.data"))
    test = input_fn(os.path.join(arguments.data, "adult.test"))
    folder = arguments.model_dir or tempfile.mkdtemp()
    train_spec = tf.estimator.TrainSpec(train, max_steps=arguments.steps)
    eval_spec = tf.estimator.EvalSpec(
        test,
        steps=None,
        exporters=migration.BestExporter("best", train.serving_input_receiver_fn()),
        throttle_secs=0,
    )

    def config(name):
        return tf.estimator.RunConfig(
            os.path.join(folder, name), save_checkpoints_steps=arguments.steps // 4
        )

    estimator = tf.estimator.Estimator(model_fn, config=config("estimator"))
    model = build_model()
    results = {
        "Estimator": tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec),
        "Keras": migration.train_and_evaluate(model, train_spec, eval_spec, config("keras")),
    }
    for name, (metrics, exports) in results.items():
        print(
            f"{name}: loss {metrics['loss']:.5f}, accuracy {metrics['accuracy']:.3f} at step"
            f" {metrics['global_step']}, exported {exports[0] is not None}"
        )


if __name__ == "__main__":
    main()
