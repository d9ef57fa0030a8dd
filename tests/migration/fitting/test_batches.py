"""Batches as a Keras model takes them: names, ranks, kinds, labels and weights."""

import logging

import numpy as np
import pytest
import tensorflow as tf

from estimator_io.errors import OptionError, SourceError, StructureError
from migration.fitting.batches import Batches

keras = tf.keras
AGE = [[1.0], [10.0]]


def adds(*names, shape=(1,), as_dict=True, **options):
    """A model that adds its inputs."""
    inputs = [keras.Input(shape, name=name, **options) for name in names]
    total = keras.layers.Add()(inputs) if len(inputs) > 1 else keras.layers.Rescaling(1.0)(*inputs)
    given = dict(zip(names, inputs, strict=True)) if as_dict else inputs
    return keras.Model(given, total)


def fitted(features, model, labels=None, mode="train", **options):
    data = tf.data.Dataset.from_tensors(features if labels is None else (features, labels))
    return next(iter(Batches(model, **options).fitted(data, mode)))


@pytest.mark.parametrize("as_dict", [True, False])
def test_features_are_matched_by_name_and_not_by_their_order(as_dict):
    model = adds("b", "a", as_dict=as_dict)
    features = {"a": [[1.0]], "b": [[2.0]], "AA": [[1000.0]], "z": [[5.0]]}
    (matched,) = fitted(features, model)
    if as_dict:
        assert {name: value.numpy().item() for name, value in matched.items()} == {"a": 1, "b": 2}
    else:
        assert [value.numpy().item() for value in matched] == [2, 1]
    assert model(matched).numpy().item() == 3


def test_an_extra_feature_does_not_reach_the_model_under_fit(caplog):
    """keras-team/keras#20136: a key that sorts first was fed instead of the right one."""
    model = adds("age")
    data = tf.data.Dataset.from_tensors({"aaa": [[1000.0]], "age": [[11.0]]}).repeat(2)
    batches = Batches(model)
    with caplog.at_level(logging.WARNING, "estimator_io"):
        for _ in range(2):
            predicted = model.predict(batches.fitted(data, "eval"), verbose=0)
    assert predicted.ravel().tolist() == [11, 11]
    assert [r.message for r in caplog.records if "dropped" in r.message] == [
        f"features that the model {model.name!r} does not take are dropped: aaa"
    ]


def test_a_missing_feature_is_named_before_training():
    with pytest.raises(StructureError, match=r"inputs that no feature is named after: 'height'"):
        fitted({"age": AGE}, adds("age", "height"))


@pytest.mark.parametrize(
    ("given", "wanted", "expected"),
    [([1.0, 2.0], (1,), (2, 1)), ([[1.0], [2.0]], (), (2,)), ([[1.0, 2.0]], (2,), (1, 2))],
)
def test_ranks_are_those_of_the_model(given, wanted, expected):
    (matched,) = fitted({"x": given}, adds("x", shape=wanted))
    assert matched["x"].shape == expected


@pytest.mark.parametrize(
    ("given", "text"),
    [([[1.0, 2.0, 3.0]], r"float32\[1, 3\].*float32 \[None, 2\]"), ([["a", "b"]], "string")],
)
def test_another_shape_or_type_is_refused_by_name(given, text):
    with pytest.raises(StructureError, match=rf"The feature 'x' does not fit.*{text}"):
        fitted({"x": given}, adds("x", shape=(2,)))


def test_features_without_a_name_fit_a_model_of_one_input():
    (matched,) = fitted([1.0, 2.0], adds("x"))
    assert matched["x"].shape == (2, 1)
    with pytest.raises(StructureError, match="has 2 inputs: 'a', 'b'"):
        fitted([1.0, 2.0], adds("a", "b"))


def test_a_subclassed_model_is_given_what_there_is():
    class Own(keras.Model):
        def call(self, inputs):
            return inputs["x"]

    (features,) = fitted({"x": AGE, "y": AGE}, Own())
    assert set(features) == {"x", "y"}


def test_sparse_features_are_kept_where_the_input_is_sparse():
    sparse = tf.sparse.from_dense([[0.0, 2.0], [1.0, 0.0]])
    model = keras.Model({"x": (x := keras.Input((2,), name="x", sparse=True))}, x)
    (features,) = fitted({"x": sparse}, model)
    assert isinstance(features["x"], tf.SparseTensor)
    (features,) = fitted({"x": sparse}, adds("x", shape=(2,)))
    assert features["x"].numpy().tolist() == [[0, 2], [1, 0]]


def test_ragged_features_are_kept_where_the_model_declares_nothing():
    ragged = tf.ragged.constant([[1.0], [2.0, 3.0]])

    class Own(keras.Model):
        def call(self, inputs):
            return inputs["x"]

    (features,) = fitted({"x": ragged}, Own())
    assert isinstance(features["x"], tf.RaggedTensor)
    (features,) = fitted({"x": ragged}, adds("x", shape=(None,)))
    assert features["x"].numpy().tolist() == [[1, 0], [2, 3]]


@pytest.mark.parametrize(
    ("labels", "units", "expected"),
    [
        ([1.0, 2.0], 1, (2, 1)),
        ([[1.0], [2.0]], 1, (2, 1)),
        ([[0], [2]], 3, (2,)),
        ([0, 2], 3, (2,)),
        ([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]], 3, (2, 3)),
    ],
)
def test_labels_have_the_rank_of_the_output(labels, units, expected):
    model = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Dense(units)])
    _, found = fitted({"x": AGE}, model, labels)
    assert found.shape == expected


def compiled(units, loss):
    model = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Dense(units, name="y")])
    model.compile("sgd", loss)
    return model


@pytest.mark.parametrize(
    ("labels", "units", "loss"),
    [
        ([[1.0, 2.0, 3.0], [1.0, 2.0, 3.0]], 1, "mse"),
        ([[1.0], [2.0]], 3, "binary_crossentropy"),
        ([1.0, 2.0], 2, keras.losses.Huber()),
        ([[1.0, 2.0], [1.0, 2.0]], 1, [keras.losses.MeanAbsoluteError()]),
    ],
)
def test_labels_of_another_width_are_refused_where_the_loss_compares_numbers(labels, units, loss):
    with pytest.raises(StructureError, match=r"The labels do not fit the output '.*by number"):
        fitted({"x": AGE}, compiled(units, loss), labels)


def test_training_without_labels_is_refused_where_a_loss_was_compiled():
    with pytest.raises(StructureError, match=r"no labels.*compiled with the loss mse"):
        fitted({"x": AGE}, compiled(1, "mse"))
    assert len(fitted({"x": AGE}, compiled(1, "mse"), mode="eval")) == 1
    assert len(fitted({"x": AGE}, compiled(1, None))) == 1


@pytest.mark.parametrize(
    ("labels", "units", "loss"),
    [
        ([[1], [2]], 3, "sparse_categorical_crossentropy"),
        ([1, 2], 3, keras.losses.SparseCategoricalCrossentropy(from_logits=True)),
        ([[1.0], [2.0]], 3, lambda y, p: tf.reduce_mean(p) - tf.reduce_mean(y)),
        ([1.0, 2.0], 1, "mse"),
    ],
)
def test_labels_of_another_width_are_taken_where_that_may_be_right(labels, units, loss):
    assert fitted({"x": AGE}, compiled(units, loss), labels)[1].shape[0] == 2


def test_labels_of_unknown_rank_have_that_of_an_output_of_one_number():
    data = tf.data.Dataset.from_tensors(({"x": AGE}, [1.0, 2.0])).map(
        lambda x, y: (x, tf.py_function(lambda v: v, [y], tf.float32))
    )
    _, found = next(iter(Batches(compiled(1, "mse")).fitted(data, "train")))
    assert found.shape == (2, 1)


def test_labels_are_matched_to_outputs_by_name(caplog):
    x = keras.Input((1,), name="x")
    outputs = [keras.layers.Dense(1, name=name)(x) for name in ("price", "size")]
    model = keras.Model({"x": x}, outputs)
    labels = {"size": [1.0, 2.0], "colour": [3.0, 4.0]}
    _, found = fitted({"x": AGE}, model, labels)
    assert {name: value.shape for name, value in found.items()} == {"size": (2, 1)}
    assert "no output for are dropped: ['colour']" in caplog.text
    with pytest.raises(StructureError, match="labels colour; outputs price, size"):
        fitted({"x": AGE}, model, {"colour": [1.0, 2.0]})


def test_a_label_vocabulary_gives_the_classes_their_numbers():
    model = keras.Sequential([keras.Input((1,), name="x"), keras.layers.Dense(3)])
    _, found = fitted({"x": AGE}, model, ["cat", "ant"], label_vocabulary=["ant", "bee", "cat"])
    assert found.numpy().tolist() == [2, 0]
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"not in label_vocabulary.*dog"):
        fitted({"x": AGE}, model, ["dog", "ant"], label_vocabulary=["ant", "bee"])
    with pytest.raises(StructureError, match="Give label_vocabulary"):
        fitted({"x": AGE}, model, ["dog", "ant"])
    with pytest.raises(OptionError, match="names a label twice"):
        fitted({"x": AGE}, model, ["dog", "ant"], label_vocabulary=["ant", "ant"])


# A batch of 4 rows whose losses are 1 each, with weights 1, 1, 1, 0.
@pytest.mark.parametrize(
    ("reduction", "expected"),
    [("sum_over_batch_size", 0.75), ("sum", 3.0), ("sum_by_nonzero_weights", 1.0), ("mean", 1.0)],
)
def test_the_loss_is_that_of_the_head_with_its_reduction(reduction, expected):
    model = adds("x")
    model.compile("sgd", "mse")
    features = {"x": np.ones((4, 1), np.float32), "w": np.float32([1, 1, 1, 0])}
    data = tf.data.Dataset.from_tensors((features, np.zeros(4, np.float32)))
    batches = Batches(model, weight_column="w", loss_reduction=reduction)
    found = model.evaluate(batches.fitted(data, "train"), verbose=0)
    assert found == pytest.approx(expected)
    assert model.evaluate(batches.fitted(data, "eval"), verbose=0) == pytest.approx(0.75)


def test_the_mean_differs_from_the_nonzero_one_where_weights_are_not_ones():
    features = {"x": np.ones((4, 1), np.float32), "w": np.float32([[2], [2], [4], [0]])}
    found = {}
    for reduction in ("mean", "sum_by_nonzero_weights"):
        batch = fitted(
            features, adds("x"), np.zeros(4), weight_column="w", loss_reduction=reduction
        )
        found[reduction] = batch[2].numpy().tolist()
    assert found["mean"] == [1, 1, 2, 0]
    np.testing.assert_allclose(found["sum_by_nonzero_weights"], [8 / 3, 8 / 3, 16 / 3, 0])


def test_a_weight_column_may_be_a_numeric_column():
    column = tf.feature_column.numeric_column("w")
    batch = fitted({"x": AGE, "w": [1.0, 0.5]}, adds("x"), [1.0, 2.0], weight_column=column)
    assert batch[2].numpy().tolist() == [1, 0.5]


def test_weights_that_are_not_there_or_twice_are_refused():
    with pytest.raises(StructureError, match="no feature 'w', which weight_column names"):
        fitted({"x": AGE}, adds("x"), [1.0, 2.0], weight_column="w")
    data = tf.data.Dataset.from_tensors(({"x": AGE, "w": [1.0, 1.0]}, [1.0, 2.0], [1.0, 1.0]))
    with pytest.raises(StructureError, match="both in the batches and in the feature 'w'"):
        Batches(adds("x"), weight_column="w").fitted(data, "train")
    with pytest.raises(OptionError, match="Expected: one of sum_over_batch_size"):
        Batches(adds("x"), loss_reduction="average")


def test_an_evaluation_without_an_end_is_refused():
    batches = Batches(adds("x"))
    endless = tf.data.Dataset.from_tensors({"x": AGE}).repeat()
    with pytest.raises(SourceError, match=r"would never end.*EvalSpec\.steps is None"):
        batches.evaluation(lambda: endless, None)
    assert len(list(batches.evaluation(lambda: endless, 3))) == 3
