"""Exported models take what the pipeline's own spec says."""

import numpy as np
import pytest
import tensorflow as tf

import estimator_io
from estimator_io import OptionError, StructureError

SPEC = {"x": tf.io.FixedLenFeature([2], tf.float32)}


@pytest.fixture
def export(tf_estimator, tmp_path):
    """Returns a function that trains on a pipeline, exports, and returns the served function."""
    v1 = tf.compat.v1

    def model_fn(features, labels, mode):
        x = features["x"] if isinstance(features, dict) else features
        double = tf.cast(x, tf.float32) * 2
        if mode == "infer":
            outputs = {"y": tf_estimator.export.PredictOutput({"double": double})}
            return tf_estimator.EstimatorSpec(
                mode, predictions={"double": double}, export_outputs=outputs
            )
        weight = v1.get_variable("w", [])
        train_op = v1.train.GradientDescentOptimizer(0.1).minimize(
            weight, v1.train.get_global_step()
        )
        return tf_estimator.EstimatorSpec(mode, loss=weight, train_op=train_op)

    def run(fn, receive="features"):
        estimator = tf_estimator.Estimator(model_fn, str(tmp_path / "model"))
        estimator.train(fn, steps=1)
        path = estimator.export_saved_model(
            str(tmp_path / "export"), fn.serving_input_receiver_fn(receive)
        )
        return tf.saved_model.load(path.decode()).signatures["y"]

    return run


def test_a_dict_of_features_is_fed_by_name_in_any_batch_size(export):
    fn = estimator_io.input_fn(
        ({"x": np.ones((6, 3), np.float32)}, np.zeros(6)), batch_size=2, drop_remainder=True
    )
    serve = export(fn)
    for rows in (1, 5):
        served = serve(x=tf.ones([rows, 3]) * 4)["double"]
        assert served.numpy().tolist() == [[8.0] * 3] * rows


def test_a_single_feature_is_fed_as_features(export):
    fn = estimator_io.input_fn((np.ones((6, 3), np.float32), np.zeros(6)), batch_size=2)
    assert export(fn)(features=tf.ones([1, 3]))["double"].numpy().tolist() == [[2.0] * 3]


def test_serialized_examples_are_parsed_as_in_training(export, write_records):
    path = write_records("a.tfrecord", range(4))
    serve = export(estimator_io.tfrecord_input_fn(path, SPEC, batch_size=2), "examples")
    records = [record.numpy() for record in tf.data.TFRecordDataset(path)]
    served = serve(examples=tf.constant(records))["double"]
    assert served.numpy().tolist() == [[2.0 * i, -2.0 * i] for i in range(4)]


def test_what_cannot_be_served_is_refused_with_the_way_out(write_records):
    arrays = estimator_io.input_fn({"x": np.arange(3)}, batch_size=1)
    with pytest.raises(OptionError, match=r"needs a pipeline of tf\.train\.Examples"):
        arrays.serving_input_receiver_fn("examples")
    with pytest.raises(OptionError, match="'rows'"):
        arrays.serving_input_receiver_fn("rows")
    path = write_records("a.tfrecord", range(4))
    parsed = estimator_io.tfrecord_input_fn(path, SPEC, parse=lambda f: f, batch_size=1)
    with pytest.raises(OptionError, match="cannot carry parse"):
        parsed.serving_input_receiver_fn("examples")
    ragged = estimator_io.input_fn(
        np.arange(1, 3),
        parse=lambda n: {"x": tf.RaggedTensor.from_row_lengths([n], [1])},
        batch_size=1,
    )
    with tf.Graph().as_default(), pytest.raises(StructureError, match="receive='examples'"):
        ragged.serving_input_receiver_fn()()
