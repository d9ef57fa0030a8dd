"""What one row of a store holds: slots of a fixed size, and payloads of any size."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from estimator_io.errors import StoreError

__all__ = ["Layout", "Slot", "numpy_dtype"]


@dataclasses.dataclass(frozen=True)
class Slot:
    """A tensor of a row whose shape and dtype are the same in every row.

    Attributes:
      dtype: the name of its dtype, as TensorFlow and NumPy both know it.
      shape: of one row.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def row_bytes(self) -> int:
        """Bytes of one row."""
        return math.prod(self.shape) * numpy_dtype(self.dtype).itemsize


@dataclasses.dataclass(frozen=True)
class Layout:
    """The parts of a row, in the order of its flattened components.

    Attributes:
      names: what each component is called in reports.
      slots: the components of fixed size, by their place among all.
      payloads: the places of all others, each stored as bytes.
    """

    names: tuple[str, ...]
    slots: Mapping[int, Slot]
    payloads: tuple[int, ...]

    @property
    def slot_bytes(self) -> int:
        """Bytes of the slots of one row."""
        return sum(slot.row_bytes for slot in self.slots.values())

    def to_json(self) -> list[dict[str, Any]]:
        """Returns the layout as a manifest holds it: one entry a component."""
        entries: list[dict[str, Any]] = []
        for at, name in enumerate(self.names):
            slot = self.slots.get(at)
            if slot is None:
                entries.append({"name": name, "kind": "payload"})
            else:
                shape = list(slot.shape)
                entries.append({"name": name, "kind": "slot", "dtype": slot.dtype, "shape": shape})
        return entries

    @classmethod
    def from_json(cls, entries: Any) -> Layout:
        """Returns the layout that a manifest holds.

        Raises:
          StoreError: it holds something else.
        """
        try:
            kinds = [str(entry["kind"]) for entry in entries]
            slots = {
                at: Slot(str(entry["dtype"]), tuple(int(size) for size in entry["shape"]))
                for at, entry in enumerate(entries)
                if kinds[at] == "slot"
            }
            for slot in slots.values():
                numpy_dtype(slot.dtype)
            payloads = tuple(at for at, kind in enumerate(kinds) if kind == "payload")
            names = tuple(str(entry["name"]) for entry in entries)
        except (TypeError, KeyError, ValueError) as error:
            raise StoreError(f"The layout in the manifest cannot be read: {error!r}.") from error
        return cls(names, slots, payloads)


def numpy_dtype(name: str) -> np.dtype:
    """Returns the NumPy dtype of a name; bfloat16 is what TensorFlow registers, or two bytes.

    Raises:
      TypeError: there is no dtype of fixed size by that name.
    """
    if name == "bfloat16":
        return np.dtype(np.uint16)
    dtype = np.dtype(name)
    if dtype.kind not in "biufc":
        raise TypeError(f"{name} is no dtype of numbers")
    return dtype
