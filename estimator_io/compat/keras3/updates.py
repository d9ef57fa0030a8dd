"""State that Keras 3 layers change as they run: batch statistics, seeds of dropout, counters.

Keras 3 assigns such state and relies on TensorFlow 2 to run the assignment. The graph of an
Estimator runs only what the training step depends on, so the assignments are collected here, and
joined to the training step.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Iterator
from typing import Any

from estimator_io.compat.journal import Journal
from estimator_io.compat.keras3.graph import GraphState, in_tf1_graph, replica_count
from estimator_io.errors import CompatibilityError

__all__ = ["collect_updates", "run_updates", "take_updates"]

# By id of the Keras variable: the variable and the operation that assigns it.
_updates = GraphState(dict)
# Tensors of the batch that the model_fn was called with.
_inputs = GraphState(list)


def collect_updates(journal: Journal) -> None:
    """Makes Keras 3 variables in an Estimator's graph remember what assigns them."""
    variable: Any = importlib.import_module("keras.src.backend.tensorflow.core").Variable
    original = variable._direct_assign

    @functools.wraps(original)
    def _direct_assign(self: Any, value: Any) -> Any:
        if not in_tf1_graph():
            return original(self, value)
        return _record(self, value)

    journal.set_attribute(variable, "_direct_assign", _direct_assign)


def _record(variable: Any, value: Any) -> None:
    import tensorflow as tf

    updates = _updates.get()
    if id(variable) in updates:
        raise CompatibilityError(
            f"The state {variable.path!r} of a Keras 3 layer is changed twice in one training "
            "step, in an order that an Estimator's graph does not keep; use a layer of its own "
            "for each call, or the layers of tf_keras or tf.compat.v1.layers."
        )
    if replica_count() > 1:
        raise CompatibilityError(
            f"The state {variable.path!r} of a Keras 3 layer cannot be kept the same on "
            f"{replica_count()} replicas of an Estimator; use the layers of tf_keras or "
            "tf.compat.v1.layers."
        )
    # Counters do not depend on the batch: without its tensors they would also count the attempt to
    # read beyond the last one.
    with tf.control_dependencies([*_inputs.get(), *_reads(variable)]):
        assigned = variable._value.assign(tf.cast(value, variable._value.dtype))
    updates[id(variable)] = (variable, assigned.op)


def _reads(variable: Any) -> list[Any]:
    """Returns the operations that have read a variable so far, which must see its old value.

    A seed is read twice, once to draw with and once to be counted on; in a graph nothing else
    orders the first of these against the assignment.
    """
    import tensorflow as tf

    context = tf.compat.v1.get_default_graph()._get_control_flow_context()
    return [
        operation
        for operation in variable._value.handle.consumers()
        if operation.type == "ReadVariableOp" and operation._get_control_flow_context() is context
    ]


def take_updates(variables: list[Any]) -> list[Any]:
    """Removes the updates of some variables from those of the graph, and returns them."""
    updates = _updates.get()
    taken = [updates.pop(id(variable), None) for variable in variables]
    return [update[1] for update in taken if update is not None]


def run_updates(journal: Journal, estimator_class: type) -> None:
    """Makes an Estimator's training step run the updates that its model_fn collected."""
    owner: Any = estimator_class
    original = owner._call_model_fn

    @functools.wraps(original)
    def _call_model_fn(self: Any, features: Any, labels: Any, mode: str, config: Any) -> Any:
        import tensorflow as tf

        batch = tf.nest.flatten((features, labels), expand_composites=True)
        _inputs.get()[:] = filter(tf.is_tensor, batch)
        with _names_from_the_start():
            spec = original(self, features, labels, mode, config)
        return _with_updates(spec)

    journal.set_attribute(owner, "_call_model_fn", _call_model_fn)


def _with_updates(spec: Any) -> Any:
    import tensorflow as tf

    updates = [operation for _, operation in _updates.get().values()]
    if not updates or getattr(spec, "train_op", None) is None:
        return spec
    return spec._replace(train_op=tf.group(spec.train_op, *updates))


@contextlib.contextmanager
def _names_from_the_start() -> Iterator[None]:
    """Counts Keras 3's automatic names from zero, as Keras 2 does in each new graph.

    Otherwise a layer would have one name while training and another while evaluating, and its
    weights would not be found in the checkpoint.
    """
    state: Any = importlib.import_module("keras.src.backend.common.global_state")
    before = state.get_global_attribute("object_name_uids")
    importlib.import_module("keras.src.utils.naming").reset_uids()
    try:
        yield
    finally:
        state.set_global_attribute("object_name_uids", before)
