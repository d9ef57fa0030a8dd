"""Keras 3 metrics in eval_metric_ops become a (value, update) pair of tensors."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from estimator_io.compat.journal import Journal
from estimator_io.compat.keras3.updates import take_updates
from estimator_io.errors import CompatibilityError

__all__ = ["convert_metrics"]


def convert_metrics(journal: Journal) -> None:
    """Makes EstimatorSpec take Keras 3 metrics, as it takes those of Keras 2."""
    model_fn: Any = importlib.import_module("tensorflow_estimator.python.estimator.model_fn")
    metric_class = importlib.import_module("keras").Metric
    original = model_fn._validate_eval_metric_ops

    @functools.wraps(original)
    def _validate_eval_metric_ops(eval_metric_ops: Any) -> Any:
        if isinstance(eval_metric_ops, dict):
            eval_metric_ops = {
                key: _as_pair(key, value) if isinstance(value, metric_class) else value
                for key, value in eval_metric_ops.items()
            }
        return original(eval_metric_ops)

    journal.set_attribute(model_fn, "_validate_eval_metric_ops", _validate_eval_metric_ops)


def _as_pair(key: str, metric: Any) -> tuple[Any, Any]:
    import tensorflow as tf

    updates = take_updates(metric.variables)
    if not updates:
        raise CompatibilityError(
            f"The Keras metric {key!r} in eval_metric_ops has nothing to update; call its "
            "update_state(labels, predictions) inside the model_fn, on a metric made there."
        )
    _make_local([variable.value for variable in metric.variables])
    with tf.control_dependencies(updates):
        update = tf.constant(True)
    return tf.convert_to_tensor(metric.result()), update


def _make_local(variables: list[Any]) -> None:
    """Moves a metric's counters out of the checkpoint, into what each evaluation sets to zero."""
    import tensorflow as tf

    keys = tf.compat.v1.GraphKeys
    moved = {id(variable) for variable in variables}
    for key in (keys.GLOBAL_VARIABLES, keys.TRAINABLE_VARIABLES):
        collection = tf.compat.v1.get_collection_ref(key)
        collection[:] = [variable for variable in collection if id(variable) not in moved]
    for variable in variables:
        for key in (keys.LOCAL_VARIABLES, keys.METRIC_VARIABLES):
            tf.compat.v1.add_to_collection(key, variable)
