from __future__ import annotations

from typing import Any

import pytest

from tests.compat.children import facts, forked_facts
from tests.compat.conftest import needs_layer

AFTER_TENSORFLOW = """
import sys
import estimator_io.compat
facts["tensorflow_at_import"] = "tensorflow" in sys.modules

import tensorflow as tf
keras, finders = tf.keras.Model, list(sys.meta_path)
logger_filters = list(tf.get_logger().filters)
had_estimator = hasattr(tf, "estimator")
estimator_io.compat.install()
facts["works"] = tf.estimator.ModeKeys.TRAIN
first = tf.estimator
facts["same_keras"] = tf.keras.Model is keras
facts["finders_added"] = len(sys.meta_path) - len(finders)

finders_once = list(sys.meta_path)
estimator_io.compat.install()
facts["second_changes_nothing"] = tf.estimator is first and sys.meta_path == finders_once

estimator_class = tf.estimator.Estimator
from tensorflow.python.estimator import gc
estimator_io.compat.uninstall()
facts["as_before"] = [
    hasattr(tf, "estimator") == had_estimator,
    sys.meta_path == finders,
    tf.get_logger().filters == logger_filters,
    tf.keras.Model is keras,
    ("tensorflow.python.estimator.gc" in sys.modules) == had_estimator,
]
facts["held_names_work"] = estimator_class.__name__

estimator_io.compat.install()
facts["works_again"] = tf.estimator.Estimator is estimator_class
"""

BEFORE_TENSORFLOW = """
import estimator_io.compat
estimator_io.compat.install()
from tensorflow import estimator
from tensorflow.compat.v1 import estimator as estimator_v1
import tensorflow.compat.v1 as tf1
import tensorflow as tf
facts["from_tensorflow"] = estimator.Estimator is tf.estimator.Estimator
facts["from_v1"] = estimator_v1.Estimator is tf.compat.v1.estimator.Estimator
facts["alias"] = [
    tf1.estimator.Estimator is estimator_v1.Estimator,
    tf1.compat.v1.estimator.Estimator is estimator_v1.Estimator,
]

import threading
threads = []
def touch():
    tf.keras.layers.Dense(1)
    tf1.layers.dense
    threads.append(tf.estimator.RunConfig().is_chief)
workers = [threading.Thread(target=touch) for _ in range(4)]
[w.start() for w in workers], [w.join() for w in workers]
facts["threads"] = threads
"""


@pytest.fixture(scope="module")
def after() -> Any:
    return facts(AFTER_TENSORFLOW)


@pytest.fixture(scope="module")
def before() -> Any:
    return facts(BEFORE_TENSORFLOW)


def test_importing_the_package_imports_no_tensorflow(after: Any) -> None:
    assert not after["tensorflow_at_import"]


def test_install_after_tensorflow_provides_tf_estimator(after: Any) -> None:
    assert after["works"] == "train"


def test_install_leaves_the_users_keras_alone(after: Any) -> None:
    assert after["same_keras"]


def test_a_second_install_changes_nothing(after: Any) -> None:
    assert after["second_changes_nothing"]


def test_uninstall_restores_every_trace_that_install_left(after: Any) -> None:
    assert after["as_before"] == [True] * 5


def test_names_that_the_program_holds_outlive_uninstall(after: Any) -> None:
    assert after["held_names_work"] in ("Estimator", "EstimatorV2")
    assert after["works_again"]


def test_on_tensorflow_2_15_nothing_is_installed(after: Any, tf: Any) -> None:
    assert (after["finders_added"] == 0) == tf.__version__.startswith("2.15.")


def test_install_before_tensorflow_serves_every_from_import(before: Any) -> None:
    assert before["from_tensorflow"]
    assert before["from_v1"]
    assert before["alias"] == [True, True]


def test_worker_threads_may_be_the_first_to_use_keras(before: Any) -> None:
    assert before["threads"] == [True] * 4


@needs_layer
def test_install_mends_an_import_of_tensorflow_estimator_that_failed_before() -> None:
    found = facts("""
        try:
            import tensorflow_estimator
        except ImportError:
            facts["failed"] = True
        import estimator_io.compat
        estimator_io.compat.install()
        import tensorflow_estimator
        import tensorflow as tf
        facts["same"] = tensorflow_estimator.estimator.Estimator is tf.compat.v1.estimator.Estimator
    """)
    assert found == {"failed": True, "same": True}


def test_with_v2_behaviour_disabled_an_estimator_trains() -> None:
    found = forked_facts("""
        import estimator_io.compat, tempfile
        import tensorflow.compat.v1 as tf
        estimator_io.compat.install()
        tf.disable_v2_behavior()
        def model_fn(features, labels, mode):
            loss = tf.reduce_mean((features * tf.get_variable("w", []) - labels) ** 2)
            optimizer = tf.train.GradientDescentOptimizer(0.1)
            train_op = optimizer.minimize(loss, tf.train.get_global_step())
            return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)
        estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp())
        estimator.train(lambda: (tf.constant([1.0]), tf.constant([2.0])), steps=50)
        facts["w"] = float(estimator.get_variable_value("w"))
        sparse = tf.feature_column.numeric_column("x")
        linear = tf.estimator.LinearRegressor([sparse], model_dir=tempfile.mkdtemp())
        rows = lambda: ({"x": tf.constant([[1.0]])}, tf.constant([[2.0]]))
        linear.train(rows, steps=5)
        facts["step"] = int(linear.evaluate(rows, steps=1)["global_step"])
    """)
    assert found["w"] == pytest.approx(2.0, abs=1e-3)
    assert found["step"] == 5


@needs_layer
def test_tf_use_legacy_keras_makes_estimators_and_the_user_share_keras_2() -> None:
    found = facts(
        """
        import estimator_io.compat, tempfile
        estimator_io.compat.install()
        import tensorflow as tf, tf_keras
        facts["keras"] = issubclass(tf.keras.Model, tf_keras.Model)
        facts["layers"] = tf.compat.v1.layers.Dense.__module__.partition(".")[0]
        column = tf.feature_column.numeric_column("x")
        model = tf.estimator.DNNRegressor([2], [column], model_dir=tempfile.mkdtemp())
        rows = lambda: ({"x": tf.constant([[1.0]])}, tf.constant([[2.0]]))
        model.train(rows, steps=2)
        facts["step"] = int(model.evaluate(rows, steps=1)["global_step"])
        """,
        TF_USE_LEGACY_KERAS="1",
    )
    assert found == {"keras": True, "layers": "tf_keras", "step": 2}


def test_estimator_module_gives_either_api(tf: Any) -> None:
    from estimator_io.compat import estimator_module

    assert estimator_module().ModeKeys.EVAL == "eval"
    assert estimator_module(1).inputs is tf.compat.v1.estimator.inputs
    assert estimator_module(2).Estimator is tf.estimator.Estimator


def test_estimator_module_refuses_an_unknown_version() -> None:
    from estimator_io.compat import estimator_module

    with pytest.raises(ValueError, match="Received: 3"):
        estimator_module(3)
