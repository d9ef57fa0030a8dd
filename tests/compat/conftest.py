"""One TensorFlow for all tests of a worker process, with tf.estimator installed."""

from __future__ import annotations

import importlib.metadata
from typing import Any

import pytest

import estimator_io.compat

OWN_ESTIMATOR = importlib.metadata.version("tensorflow").startswith("2.15.")

needs_layer = pytest.mark.skipif(
    OWN_ESTIMATOR, reason="TensorFlow 2.15 has its own tf.estimator: nothing is changed there"
)
needs_keras3 = pytest.mark.skipif(
    OWN_ESTIMATOR, reason="TensorFlow 2.15 has no Keras 3 that could be handed to an Estimator"
)


@pytest.fixture(scope="session")
def tf() -> Any:
    estimator_io.compat.install()
    import tensorflow

    return tensorflow
