from __future__ import annotations

import importlib
from typing import Any

import pytest

from tests.compat.conftest import needs_layer

PRIVATE_PATHS = [
    "canned.baseline",
    "canned.dnn",
    "canned.dnn_linear_combined",
    "canned.head",
    "canned.linear",
    "canned.metric_keys",
    "canned.optimizers",
    "canned.parsing_utils",
    "canned.prediction_keys",
    "estimator",
    "estimator_lib",
    "export.export",
    "export.export_lib",
    "export.export_output",
    "exporter",
    "gc",
    "inputs.inputs",
    "inputs.numpy_io",
    "inputs.pandas_io",
    "inputs.queues.feeding_functions",
    "model_fn",
    "run_config",
    "training",
    "util",
]


@pytest.mark.parametrize("path", PRIVATE_PATHS)
def test_an_old_private_path_gives_the_names_of_the_real_module(tf: Any, path: str) -> None:
    old = importlib.import_module(f"tensorflow.python.estimator.{path}")
    real = importlib.import_module(f"tensorflow_estimator.python.estimator.{path}")
    public = [name for name in dir(real) if not name.startswith("_")]
    assert public
    assert [name for name in public if getattr(old, name, None) is not getattr(real, name)] == []


def test_the_old_keras_path_gives_model_to_estimator(tf: Any) -> None:
    from tensorflow.python.estimator import keras
    from tensorflow_estimator.python.estimator import keras_lib

    assert keras.model_to_estimator is keras_lib.model_to_estimator


def test_modules_are_reached_from_the_old_package_itself(tf: Any) -> None:
    from tensorflow.python.estimator import gc
    from tensorflow.python.estimator.canned import dnn
    from tensorflow.python.estimator.estimator import Estimator

    assert gc._largest_export_versions(1)([]) == []
    assert dnn.DNNClassifierV2 is tf.estimator.DNNClassifier
    assert Estimator is tf.compat.v1.estimator.Estimator


def test_an_unknown_old_path_is_an_ordinary_import_error(tf: Any) -> None:
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        importlib.import_module("tensorflow.python.estimator.no_such_module")


def test_every_tf_object_has_the_estimator_of_its_version(tf: Any) -> None:
    v1 = importlib.import_module("tensorflow.compat.v1")
    v2 = importlib.import_module("tensorflow.compat.v2")
    assert v1.estimator.inputs is tf.compat.v1.estimator.inputs
    assert v2.estimator.Estimator is tf.estimator.Estimator is tf.compat.v2.estimator.Estimator
    assert v1.estimator.Estimator is tf.compat.v1.estimator.Estimator


@needs_layer
def test_aliases_inside_aliases_have_it_too(tf: Any) -> None:
    v1 = importlib.import_module("tensorflow.compat.v1")
    assert v1.compat.v1.estimator is tf.compat.v1.estimator
    assert v1.compat.v2.estimator is tf.estimator
    assert tf.compat.v2.compat.v1.estimator is tf.compat.v1.estimator


@needs_layer
@pytest.mark.parametrize(
    ("path", "version"),
    [
        ("tensorflow.estimator", 2),
        ("tensorflow.estimator.export", 2),
        ("tensorflow.compat.v1.estimator", 1),
        ("tensorflow.compat.v1.estimator.inputs", 1),
        ("tensorflow.compat.v1.estimator.tpu.experimental", 1),
        ("tensorflow.compat.v2.estimator.experimental", 2),
    ],
)
def test_public_paths_can_be_imported_as_modules(tf: Any, path: str, version: int) -> None:
    name = path.partition("estimator")[2]
    api = f"tensorflow_estimator.python.estimator.api._v{version}.estimator"
    assert importlib.import_module(path) is importlib.import_module(api + name)


def test_tensorflow_estimator_itself_is_importable(tf: Any) -> None:
    package = importlib.import_module("tensorflow_estimator")
    assert package.estimator.Estimator is tf.compat.v1.estimator.Estimator


def test_estimator_names_are_known_to_the_export_registry(tf: Any) -> None:
    from tensorflow.python.util import tf_export

    assert "estimator.DNNClassifier" in tf_export.get_v2_names(tf.estimator.DNNClassifier)
    assert tf_export.get_v1_names(tf.compat.v1.estimator.DNNClassifier) == [
        "estimator.DNNClassifier"
    ]
    assert tf_export.get_v2_names(tf.constant) == ["constant"]


def test_both_apis_have_the_49_public_classes_of_2_15(tf: Any) -> None:
    for api in (tf.estimator, tf.compat.v1.estimator):
        assert len([name for name in dir(api) if name[0].isupper()]) == 49
