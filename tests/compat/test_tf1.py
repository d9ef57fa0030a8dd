"""`estimator-io run --tf1`: a program of TensorFlow 1, down to tf.contrib."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from estimator_io.errors import CompatibilityError
from estimator_io.runner.contrib import contrib_module
from tests.compat.test_run_command import command

PROGRAM = """
import json, tempfile
import numpy as np
import tensorflow as tf
import tensorflow.contrib.layers as contrib_layers
import tensorflow.keras as keras_by_path
from tensorflow import keras
from tensorflow.contrib import rnn
from tensorflow.contrib.layers import xavier_initializer
from tensorflow.keras.layers import Dense
from tensorflow.python.framework import ops
import tensorflow.compat.v1 as tf1
import beside

facts = {
    "placeholder": tf.placeholder(tf.float32, [None]).shape.rank,
    "eager": tf.executing_eagerly(),
    "resource": tf.resource_variables_enabled(),
    "helper": beside.VALUE,
    "keras": [keras is keras_by_path, Dense is keras.layers.Dense, keras is tf.keras],
    "keras_version": keras.__version__[0],
    "contrib": [tf.contrib.layers is contrib_layers, rnn.LSTMCell is tf.nn.rnn_cell.LSTMCell],
    "v1": tf1.Session is tf.Session,
    "internal": ops.Graph is tf.Graph,
}
try:
    tf.contrib.slim
except ImportError as error:
    facts["slim"] = str(error)

def model_fn(features, labels, mode, params):
    net = tf.layers.dense(
        features["x"], 4, kernel_initializer=xavier_initializer(seed=1),
        kernel_regularizer=contrib_layers.l2_regularizer(0.01))
    cell = tf.contrib.rnn.GRUCell(3)
    _, state = tf.nn.dynamic_rnn(cell, tf.expand_dims(net, 1), dtype=tf.float32)
    output = tf.layers.dense(state, 1)
    loss = tf.losses.mean_squared_error(labels, output) + tf.losses.get_regularization_loss()
    train_op = tf.train.AdamOptimizer(0.01).minimize(loss, tf.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)

x = np.ones((16, 2), "float32")
input_fn = tf.estimator.inputs.numpy_input_fn(
    {"x": x}, x[:, :1], batch_size=4, num_epochs=None, shuffle=False)
estimator = tf.estimator.Estimator(model_fn, tempfile.mkdtemp(), params={})
estimator.train(input_fn, steps=30)
facts["loss"] = float(estimator.evaluate(input_fn, steps=1)["loss"])
with tf.Session() as session:
    facts["session"] = int(session.run(tf.constant(1) + 1))
print(json.dumps(facts))
"""


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> Any:
    import json

    folder = tmp_path_factory.mktemp("tf1")
    (folder / "old.py").write_text(PROGRAM)
    (folder / "beside.py").write_text(
        "import tensorflow as tf\nVALUE = hasattr(tf, 'placeholder') and hasattr(tf, 'contrib')\n"
    )
    result = command("--tf1", Path(folder) / "old.py")
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads(result.stdout.splitlines()[-1])


def test_tensorflow_means_tensorflow_1_in_the_script_and_beside_it(shown: Any) -> None:
    assert shown["placeholder"] == 1
    assert shown["helper"] is True
    assert shown["internal"] is shown["v1"] is True


def test_tensorflow_2_behaviour_is_off(shown: Any) -> None:
    assert shown["eager"] is shown["resource"] is False
    assert shown["session"] == 2


def test_every_path_to_keras_gives_keras_2(shown: Any) -> None:
    assert shown["keras"] == [True, True, True]
    assert shown["keras_version"] == "2"


def test_contrib_names_with_a_counterpart_work_by_every_path(shown: Any) -> None:
    assert shown["contrib"] == [True, True]
    assert shown["loss"] < 1.0


def test_a_contrib_name_without_a_counterpart_names_the_replacement(shown: Any) -> None:
    assert "pip install tf_slim" in shown["slim"]


def test_every_listed_counterpart_exists_today(tf: Any) -> None:
    from estimator_io.runner import contrib

    root = contrib_module("", tf.compat.v1)
    for package, _, names in contrib._SAME:
        for name in names.split():
            assert getattr(getattr(root, package), name) is not None


@pytest.mark.parametrize(
    ("path", "word"),
    [
        ("layers.batch_norm", "tf.layers.batch_normalization"),
        ("layers.no_such_name", "look for the name"),
        ("learn", "tf.estimator"),
        ("training.HParams", "SimpleNamespace"),
        ("data.batch_and_drop_remainder", "drop_remainder=True"),
        ("metrics", "labels come before predictions"),
        ("nothing_like_it", "look for the name"),
    ],
)
def test_names_without_a_counterpart_are_refused(tf: Any, path: str, word: str) -> None:
    module: Any = contrib_module("", tf.compat.v1)
    package, _, name = path.partition(".")
    with pytest.raises(CompatibilityError, match=word):
        getattr(getattr(module, package), name) if name else getattr(module, package)


def test_regularizers_and_initializers_have_the_values_of_contrib(tf: Any) -> None:
    layers = contrib_module("layers", tf.compat.v1)
    weights = tf.constant([[3.0, -4.0]])
    assert float(layers.l2_regularizer(0.1)(weights)) == pytest.approx(0.1 * (9 + 16) / 2)
    assert float(layers.l1_regularizer(0.1)(weights)) == pytest.approx(0.1 * 7)
    assert layers.l2_regularizer(0.0)(weights) is None
    drawn = np.asarray(layers.xavier_initializer(seed=1)([200, 100]))
    assert np.abs(drawn).max() <= np.sqrt(6 / 300)
    assert drawn.var() == pytest.approx(2 / 300, rel=0.05)
    with pytest.raises(CompatibilityError, match="glorot_normal"):
        layers.xavier_initializer(uniform=False)
