"""What a worker is to do with each row: which function, on what, and what must come of it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from estimator_io.workers.columns import TEXT, as_array
from estimator_io.workers.segments import dtype_named

__all__ = ["Misfit", "Outputs", "TaskSpec", "call", "fitted", "leaves_of", "packed", "spelled"]

_SPELLED_CHARACTERS = 300


class Misfit(ValueError):  # noqa: N818 - it tells of a row, and never leaves the package
    """What a function returned is not what the signature says."""


@dataclasses.dataclass(frozen=True)
class Outputs:
    """What a function returns for a row.

    Attributes:
      structure: dicts and tuples, anything at the leaves.
      dtypes: of each leaf, NumPy's name or "string".
      shapes: of each leaf, None for dimensions that vary.
    """

    structure: Any
    dtypes: tuple[str, ...]
    shapes: tuple[tuple[int | None, ...], ...]

    def fixed(self, leaf: int) -> bool:
        """Whether `leaf` has one shape in all rows."""
        return None not in self.shapes[leaf]

    def in_place(self, leaf: int) -> bool:
        """Whether the size of `leaf` is known before the function runs."""
        return self.fixed(leaf) and self.dtypes[leaf] != TEXT


@dataclasses.dataclass(frozen=True)
class TaskSpec:
    """A function's place in the pipeline.

    Attributes:
      stage: the stage that it belongs to.
      inputs: the structure of what it takes, with the number of a leaf at each leaf.
      seed: the first part of the seeds of rows; None for a function that takes no seed. The last
        leaf is then the row's number.
      outputs: what it returns; None while that is to be found out.
      what: "row" or "batch", for messages.
    """

    stage: str
    inputs: Any
    seed: int | None
    outputs: Outputs | None
    what: str = "row"


def call(function: Callable[..., Any], spec: TaskSpec, leaves: Sequence[Any]) -> Any:
    """Calls `function` as a stage of tf.data does: a tuple is taken apart."""
    keywords: dict[str, Any] = {}
    if spec.seed is not None:
        keywords["seed"] = np.array([spec.seed, leaves[-1]], np.int64)
    element = packed(spec.inputs, leaves)
    if isinstance(element, tuple):
        return function(*element, **keywords)
    return function(element, **keywords)


def packed(structure: Any, leaves: Sequence[Any]) -> Any:
    """Returns `structure` with each number in it replaced by the leaf of that number."""
    if isinstance(structure, Mapping):
        return {key: packed(value, leaves) for key, value in structure.items()}
    if isinstance(structure, tuple) and hasattr(structure, "_fields"):
        return type(structure)(*(packed(value, leaves) for value in structure))
    if isinstance(structure, (tuple, list)):
        return type(structure)(packed(value, leaves) for value in structure)
    return leaves[structure]


def leaves_of(structure: Any, result: Any) -> list[Any]:
    """Returns the values of `result` at the leaves of `structure`, in the order of tf.nest.

    Raises:
      KeyError: `result` has other keys, or tuples of another length.
    """
    if isinstance(structure, Mapping):
        if not isinstance(result, Mapping) or result.keys() != structure.keys():
            raise KeyError
        return [
            leaf for key in sorted(structure) for leaf in leaves_of(structure[key], result[key])
        ]
    if isinstance(structure, tuple):
        if not isinstance(result, tuple) or len(result) != len(structure):
            raise KeyError
        pairs = zip(structure, result, strict=True)
        return [leaf for part, value in pairs for leaf in leaves_of(part, value)]
    return [result]


def fitted(result: Any, outputs: Outputs) -> list[np.ndarray]:
    """Returns the leaves of `result` as arrays, texts as objects.

    Raises:
      Misfit: a key, a type or a shape is another one than the signature says.
    """
    try:
        leaves = leaves_of(outputs.structure, result)
    except KeyError:
        raise Misfit(
            f"another structure than the signature. Received: {spelled(result)}. Expected: a value"
            f" for each of {outputs.structure!r}"
        ) from None
    signature = zip(leaves, outputs.dtypes, outputs.shapes, strict=True)
    return [_fitted(leaf, dtype, shape) for leaf, dtype, shape in signature]


def _fitted(leaf: Any, dtype: str, shape: tuple[int | None, ...]) -> np.ndarray:
    refuse_tensors(leaf)
    array = as_array(leaf)
    text = dtype == TEXT
    fits = (array.dtype == object) == text and array.ndim == len(shape)
    fits = fits and all(a in (b, None) for a, b in zip(shape, array.shape, strict=True))
    if fits and not text:
        fits = np.can_cast(array.dtype, dtype_named(dtype), "same_kind")
    if not fits:
        raise Misfit(
            f"{spelled(leaf)}, which does not fit the signature. Expected:"
            f" {dtype}{list(shape)}. Return the same type and shape in every row, or give"
            " signatures=… with the type that all rows have, and None for dimensions that vary"
        )
    _refuse_overflow(array, dtype)
    return array


def _refuse_overflow(array: np.ndarray, dtype: str) -> None:
    """Refuses whole numbers that would wrap around; the type has been found to be of their kind."""
    if array.dtype.kind not in "iu" or not array.size:  # text has no NumPy dtype of its name
        return
    wanted = dtype_named(dtype)
    if wanted.kind not in "iu" or np.can_cast(array.dtype, wanted):
        return
    limits = np.iinfo(dtype)
    for value in (int(array.min()), int(array.max())):
        if not limits.min <= value <= limits.max:
            raise Misfit(
                f"{value}, which does not fit the signature. Expected: {dtype}, {limits.min} to"
                f" {limits.max}. Return larger types from the first row on, or give signatures=…"
                " with a type that holds all values"
            )


def refuse_tensors(leaf: Any) -> None:
    """Refuses what a function of TensorFlow returns.

    Raises:
      Misfit: `leaf` is a tensor.
    """
    if type(leaf).__module__.split(".")[0] == "tensorflow":
        raise Misfit(
            f"a {type(leaf).__name__} of TensorFlow. Expected: arrays of NumPy or plain values. A"
            " function of TensorFlow runs faster where it is: name in processes={…} only the"
            " stages whose functions are Python's"
        )


def spelled(value: Any) -> str:
    """Returns `value` in few words: arrays by type and shape, the rest by their repr."""
    text = _spelled(value)
    return text if len(text) <= _SPELLED_CHARACTERS else text[:_SPELLED_CHARACTERS] + "…"


def _spelled(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.ndim:
        return f"{value.dtype.name}{list(value.shape)}"
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{key!r}: {_spelled(item)}" for key, item in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(_spelled, value)) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, (np.generic, np.ndarray)):
        return f"{value.item()!r} ({value.dtype.name})"
    if isinstance(value, (bytes, str)) and len(value) > _SPELLED_CHARACTERS:
        return f"{value[:60]!r}… ({len(value):,} long)"
    return repr(value)
