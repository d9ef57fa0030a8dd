"""The parts of TensorFlow without a public name that the rest of this folder stands on.

All of them have stood where they stand from TensorFlow 2.15 to 2.21.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = [
    "add_functions",
    "array_of",
    "dataset_ops",
    "eager_mode",
    "framework_ops",
    "global_seed",
    "is_eager_tensor",
    "iterator_ops",
    "random_seed",
    "script_ops",
    "tensor_util",
]


def framework_ops() -> Any:
    """Returns the module through which every constant of a graph is made."""
    return importlib.import_module("tensorflow.python.framework.ops")


def random_seed() -> Any:
    """Returns the module that counts the seeds that a graph has handed out."""
    return importlib.import_module("tensorflow.python.framework.random_seed")


def add_functions(functions: Any) -> None:
    """Makes functions known outside of graphs, as far as they are not."""
    eager = importlib.import_module("tensorflow.python.eager.context").context()
    for function in functions:
        if not eager.has_function(function.signature.name):
            eager.add_function_def(function)


def dataset_ops() -> Any:
    """Returns the module of the Dataset classes."""
    return importlib.import_module("tensorflow.python.data.ops.dataset_ops")


def iterator_ops() -> Any:
    """Returns the module of the iterators of graphs."""
    return importlib.import_module("tensorflow.python.data.ops.iterator_ops")


def script_ops() -> Any:
    """Returns the module that holds the Python functions which graphs call."""
    return importlib.import_module("tensorflow.python.ops.script_ops")


def tensor_util() -> Any:
    """Returns the module that turns values into TensorProtos."""
    return importlib.import_module("tensorflow.python.framework.tensor_util")


def array_of(proto: Any) -> Any:
    """Returns the values of a TensorProto; TensorFlow's own function knows no packed texts."""
    import tensorflow as tf

    if proto.dtype != tf.string.as_datatype_enum or not proto.tensor_content:
        return tf.make_ndarray(proto)
    with eager_mode():
        return tf.io.parse_tensor(proto.SerializeToString(), tf.string).numpy()


def eager_mode() -> Any:
    """Returns a context in which operations run at once, inside of a graph too."""
    return importlib.import_module("tensorflow.python.eager.context").eager_mode()


def global_seed() -> int | None:
    """Returns what tf.random.set_seed set outside of graphs."""
    return importlib.import_module("tensorflow.python.eager.context").global_seed()


def is_eager_tensor(tensor: Any) -> bool:
    """Whether `tensor` holds its value, rather than being computed in a graph."""
    return isinstance(tensor, framework_ops().EagerTensor)
