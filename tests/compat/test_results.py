from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

from estimator_io.compat.results import plain
from tests.compat import reference


@pytest.mark.parametrize(
    ("value", "printed"),
    [
        (np.float32(1.0), "1.0"),
        (np.float32(1 / 3), "0.33333334"),
        (np.float64(0.1), "0.1"),
        (np.int64(7), "7"),
        (np.bool_(True), "True"),
    ],
)
def test_a_scalar_prints_as_under_numpy_1(value: Any, printed: str) -> None:
    assert repr({"value": plain(value)}) == f"{{'value': {printed}}}"


def test_a_plain_scalar_keeps_type_dtype_and_arithmetic() -> None:
    value = plain(np.float32(0.25))
    assert isinstance(value, np.float32)
    assert value.dtype == np.float32
    assert value == 0.25
    assert value.item() == 0.25
    assert np.isscalar(value)
    assert (value + np.float32(1)).dtype == np.float32
    assert np.asarray([value, value]).dtype == np.float32
    assert hash(value) == hash(np.float32(0.25))


def test_a_plain_scalar_survives_pickle_and_copy() -> None:
    value = plain(np.int64(3))
    assert pickle.loads(pickle.dumps(value)) == 3
    assert copy.deepcopy(value).dtype == np.int64


def test_a_plain_scalar_becomes_a_tensor_of_its_dtype(tf: Any) -> None:
    assert tf.convert_to_tensor(plain(np.float32(2.0))).dtype == tf.float32
    assert tf.convert_to_tensor(plain(np.int64(2))).dtype == tf.int64


def test_arrays_strings_and_python_values_are_returned_as_they_are() -> None:
    array = np.ones(3)
    values = {"array": array, "text": "a", "bytes": b"b", "none": None, "int": 3}
    assert plain(values) == values
    assert plain(values)["array"] is array


def test_nested_predictions_are_plain_too() -> None:
    assert repr(plain({"a": [np.float32(1), (np.int32(2),)]})) == "{'a': [1.0, (2,)]}"


def test_evaluate_train_and_evaluate_and_predict_print_plainly(tf: Any) -> None:
    model = reference.model_fn(tf, lambda: tf.compat.v1.train.GradientDescentOptimizer(0.1))

    def scalar_model(features: Any, labels: Any, mode: str) -> Any:
        spec = model(features, labels, mode)
        if mode != "infer":
            return spec
        return spec._replace(predictions={"y": spec.predictions["y"][:, 0]})

    estimator = tf.estimator.Estimator(scalar_model, **reference.options(tf))
    rows = reference.input_fn(tf, reference.data()[2], 1)
    results, exports = tf.estimator.train_and_evaluate(
        estimator,
        tf.estimator.TrainSpec(rows, max_steps=2),
        tf.estimator.EvalSpec(rows, steps=1),
    )
    assert exports == []
    assert "np." not in repr(results)
    assert isinstance(results["loss"], np.float32)
    assert isinstance(results["global_step"], np.int64)
    assert "np." not in repr(estimator.evaluate(rows, steps=1))
    assert "np." not in repr(next(iter(estimator.predict(rows))))
