"""What the rows that Python makes look like: given, or told by the first one."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import OptionError, SourceError
from estimator_io.plan.calls import is_namedtuple

__all__ = ["Signature"]


@dataclasses.dataclass(frozen=True)
class Signature:
    """The structure of a row and what each of its leaves is.

    Attributes:
      structure: dicts and tuples, with the name of the type at each leaf.
      dtypes: the type of each leaf.
      shapes: the shape of each leaf, None for dimensions that vary.
    """

    structure: Any
    dtypes: list[tf.DType]
    shapes: list[list[int | None]]

    @classmethod
    def of_specs(cls, specs: Any) -> Signature:
        """Returns the signature that nested `tf.TensorSpec`s give.

        Raises:
          OptionError: there is something else among them.
        """
        leaves = tf.nest.flatten(specs)
        for leaf in leaves:
            if not isinstance(leaf, tf.TensorSpec) or leaf.shape.rank is None:
                raise OptionError(
                    f"signature holds {leaf!r}. Expected: dicts and tuples of tf.TensorSpec with"
                    " shapes of known rank, such as {'x': tf.TensorSpec([None], tf.float32)}."
                )
        return cls._of(specs, leaves)

    @classmethod
    def of_element(cls, element: Any, *, batched: bool = False) -> Signature:
        """Returns the signature of a row, or with `batched` of the rows of a batch.

        Python's own whole numbers count as int64, its other numbers as float32.

        Raises:
          SourceError: the element holds None, or what TensorFlow has no type for.
        """
        specs = tf.nest.map_structure(lambda leaf: _spec(leaf, element, batched), _plain(element))
        return cls._of(specs, tf.nest.flatten(specs))

    @classmethod
    def _of(cls, specs: Any, leaves: list[tf.TensorSpec]) -> Signature:
        names = [leaf.dtype.name for leaf in leaves]
        return cls(
            structure=tf.nest.pack_sequence_as(specs, names),
            dtypes=[leaf.dtype for leaf in leaves],
            shapes=[leaf.shape.as_list() for leaf in leaves],
        )

    @property
    def fixed(self) -> bool:
        """Whether every leaf has one shape."""
        return all(None not in shape for shape in self.shapes)

    def arguments(self) -> dict[str, Any]:
        """Returns the keyword arguments that the functions of ops/generator.py take."""
        return {"structure": self.structure, "dtypes": self.dtypes, "shapes": self.shapes}


class _Leaf:
    """Keeps tf.nest from looking into a list, which is one array."""

    def __init__(self, value: Any) -> None:
        self.value = value


def _plain(element: Any) -> Any:
    """Returns `element` with everything but dicts and tuples as a leaf."""
    if isinstance(element, Mapping):
        return {key: _plain(value) for key, value in element.items()}
    if type(element) is tuple:
        return tuple(_plain(value) for value in element)
    if is_namedtuple(element):
        kind: Any = type(element)
        return kind._make(_plain(value) for value in element)
    return _Leaf(element)


def _spec(leaf: _Leaf, element: Any, batched: bool) -> tf.TensorSpec:
    array = np.asarray(leaf.value)
    if array.dtype.kind in "SU" or _is_text(array):
        dtype = tf.string
    elif array.dtype.kind in "biufc":
        dtype = tf.as_dtype(array.dtype)
        if not _has_type(leaf.value):
            dtype = {"i": tf.int64, "f": tf.float32}.get(array.dtype.kind, dtype)
    else:
        raise SourceError(
            f"The first element holds {leaf.value!r:.200} of type {type(leaf.value).__name__}, for"
            f" which TensorFlow has no type. Received: {element!r:.300}. Expected: features,"
            " (features, labels) or (features, labels, weights), in dicts and tuples of numbers,"
            " texts and arrays. Without labels give the features alone."
        )
    if batched and array.ndim == 0:
        raise SourceError(
            f"The first batch holds the single value {leaf.value!r}. Expected: arrays whose first"
            " dimension is the rows of the batch."
        )
    return tf.TensorSpec(array.shape[1:] if batched else array.shape, dtype)


def _is_text(array: np.ndarray) -> bool:
    texts = array.dtype.kind == "O" and array.size
    return bool(texts) and all(isinstance(item, (str, bytes)) for item in array.flat)


def _has_type(value: Any) -> bool:
    """Whether a value has a type of its own, as NumPy's and TensorFlow's have."""
    if isinstance(value, (list, tuple)):
        return bool(value) and _has_type(value[0])
    return hasattr(value, "dtype")
