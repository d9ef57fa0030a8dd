"""Tensors of a legacy graph as a Dataset: a session beside the program, asked for each batch.

Each batch is computed by `session.run` and handed over as NumPy arrays: one copy and one call of
Python a batch more than a Dataset costs.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import tensorflow as tf

from estimator_io.errors import StructureError

__all__ = ["dataset_of_tensors"]

v1 = tf.compat.v1


def dataset_of_tensors(make: Callable[[], Any]) -> tf.data.Dataset:
    """Returns the batches of an input function that returns tensors.

    The function is called once for its structure, and once more each time the Dataset is iterated:
    it starts over, as it does at each call by an Estimator. What TABLE_INITIALIZERS holds is run
    first (tables, and iterators that the function put there), queue runners are started.

    Args:
      make: builds the tensors: features, or (features, labels).

    Returns:
      A Dataset that ends where the tensors are out of range, of the same structure.

    Raises:
      StructureError: something else than tensors was returned.
    """
    with tf.Graph().as_default():
        spec = _spec(make())
    flat = tf.nest.flatten(spec, expand_composites=True)

    def batches() -> Iterator[tuple[Any, ...]]:
        with tf.Graph().as_default():
            tensors = tf.nest.flatten(make(), expand_composites=True)
            with v1.train.SingularMonitoredSession() as session, _out_of_range():
                while not session.should_stop():
                    yield tuple(session.run(tensors))

    signature = tuple(tf.TensorSpec(each.shape, each.dtype) for each in flat)
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)

    def packed(*components: Any) -> Any:
        return tf.nest.pack_sequence_as(spec, components, expand_composites=True)

    return dataset.map(packed).prefetch(tf.data.AUTOTUNE)


@contextlib.contextmanager
def _out_of_range() -> Iterator[None]:
    with contextlib.suppress(tf.errors.OutOfRangeError, StopIteration):
        yield


def _spec(returned: Any) -> Any:
    returned = tuple(returned) if isinstance(returned, list) else returned
    leaves = tf.nest.flatten(returned)
    if not leaves or not all(tf.is_tensor(leaf) for leaf in leaves):
        kinds = sorted({type(leaf).__name__ for leaf in leaves}) or [type(returned).__name__]
        raise StructureError(
            f"The input function returned no data. Received: {', '.join(kinds)}. Expected: a"
            " tf.data.Dataset, or tensors: features, or (features, labels)."
        )
    return tf.nest.map_structure(tf.type_spec_from_value, returned)
