"""An Estimator small enough to train in a test, that records the rows it was given."""

import pytest


@pytest.fixture(scope="session")
def tf_estimator():
    """Returns tf.estimator, on any TensorFlow."""
    import tensorflow as tf

    import estimator_io

    estimator_io.compat.install()
    tf.get_logger().setLevel("ERROR")
    return tf.estimator


@pytest.fixture
def recording_estimator(tf_estimator, tmp_path):
    """Returns a function that makes (estimator, rows): rows by mode, as the model was fed them."""
    import tensorflow as tf

    v1 = tf.compat.v1

    def make(params=None, config=None, name="model"):
        rows = {"train": [], "eval": [], "infer": []}

        def model_fn(features, labels, mode, params):
            x = features["x"] if isinstance(features, dict) else features

            def note(values):
                rows[mode].append(values.tolist())
                return values

            seen = tf.numpy_function(note, [x], x.dtype)
            seen.set_shape(x.shape)
            if mode == "infer":
                return tf_estimator.EstimatorSpec(mode, predictions={"x": seen})
            weight = v1.get_variable("w", [], initializer=v1.zeros_initializer())
            loss = tf.reduce_mean(tf.cast(seen, tf.float32)) * 0 + weight
            step = v1.train.get_global_step()
            train_op = v1.train.GradientDescentOptimizer(0.1).minimize(loss, step)
            metrics = {"rows": v1.metrics.mean(tf.cast(seen, tf.float32))}
            return tf_estimator.EstimatorSpec(
                mode, loss=loss, train_op=train_op, eval_metric_ops=metrics
            )

        estimator = tf_estimator.Estimator(
            model_fn, model_dir=str(tmp_path / name), params=params or {}, config=config
        )
        return estimator, rows

    return make
