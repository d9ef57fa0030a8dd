"""From an element's spec to the layout of a row, and between elements and rows in a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import StoreError
from estimator_io.store.layout import Layout, Slot, numpy_dtype

__all__ = ["Codec"]


class Codec:
    """Turns elements of one spec into rows of a layout, and back.

    A component is a slot where its shape is known and its dtype one of numbers. All others are
    payloads: text scalars as they are, anything else as tf.io.serialize_tensor writes it.

    Args:
      spec: of the elements.

    Attributes:
      layout: of a row.
      batches: whether rows can become a batch of elements without looking at each: every component
        is a slot or a text scalar.

    Raises:
      StoreError: the elements hold what is no tensor.
    """

    def __init__(self, spec: Any) -> None:
        self.spec = spec
        self._parts: list[Any] = tf.nest.flatten(spec, expand_composites=True)
        slots, payloads = {}, []
        for at, part in enumerate(self._parts):
            if not isinstance(part, tf.TensorSpec) or part.dtype in (tf.variant, tf.resource):
                raise StoreError(
                    f"A cache holds rows of tensors, ragged and sparse ones too. Received: {part!r}"
                    " among what the stages before the cache make. Leave cache out, or make such"
                    " values behind it, in augment or batch_map."
                )
            slot = _slot(part)
            if slot is None:
                payloads.append(at)
            else:
                slots[at] = slot
        self.layout = Layout(_names(spec), slots, tuple(payloads))
        dense = all(isinstance(leaf, tf.TensorSpec) for leaf in tf.nest.flatten(spec))
        self.batches = dense and all(_is_text(self._parts[at]) for at in payloads)

    def row_specs(self) -> tuple[tf.TensorSpec, ...]:
        """The spec of a row: its slots, then its payloads, string [payloads]."""
        slots = [tf.TensorSpec(s.shape, _stored(s.dtype)) for s in self.layout.slots.values()]
        return (*slots, tf.TensorSpec([len(self.layout.payloads)], tf.string))

    @tf.autograph.experimental.do_not_convert
    def to_row(self, element: Any) -> tuple[Any, ...]:
        """Returns the row of an element."""
        parts = tf.nest.flatten(_fitted(element, self.spec), expand_composites=True)
        slots = [_encoded(parts[at], slot) for at, slot in self.layout.slots.items()]
        payloads = [self._payload(parts[at], at) for at in self.layout.payloads]
        return (*slots, tf.stack(payloads) if payloads else tf.zeros([0], tf.string))

    @tf.autograph.experimental.do_not_convert
    def no_row(self) -> tuple[Any, ...]:
        """Returns what stands for a row that is not made."""
        return tuple(tf.zeros(spec.shape, spec.dtype) for spec in self.row_specs())

    @tf.autograph.experimental.do_not_convert
    def to_element(self, row: Sequence[Any]) -> Any:
        """Returns the element of a row."""
        return self._element(row, lambda payloads, at: payloads[at], self._parsed)

    @tf.autograph.experimental.do_not_convert
    def to_batch(self, rows: Sequence[Any], size: int | None = None) -> Any:
        """Returns a batch of elements, where `batches` is true; of `size` rows, if given."""
        for value in rows:
            value.set_shape([size, *value.shape[1:]])
        return self._element(rows, lambda payloads, at: payloads[:, at], lambda text, part: text)

    def _element(
        self,
        row: Sequence[Any],
        take: Callable[[Any, int], Any],
        parse: Callable[[Any, tf.TensorSpec], Any],
    ) -> Any:
        parts: dict[int, Any] = {}
        for value, (at, slot) in zip(row, self.layout.slots.items(), strict=False):
            parts[at] = _decoded(value, slot)
        for number, at in enumerate(self.layout.payloads):
            parts[at] = parse(take(row[-1], number), self._parts[at])
        flat = [parts[at] for at in range(len(self._parts))]
        return tf.nest.pack_sequence_as(self.spec, flat, expand_composites=True)

    def _payload(self, value: Any, at: int) -> Any:
        if _is_text(self._parts[at]):
            return value
        return tf.io.serialize_tensor(value)

    def _parsed(self, payload: Any, part: tf.TensorSpec) -> Any:
        if _is_text(part):
            return payload
        return tf.ensure_shape(tf.io.parse_tensor(payload, part.dtype), part.shape)


def _slot(part: tf.TensorSpec) -> Slot | None:
    if not part.shape.is_fully_defined():
        return None
    try:
        numpy_dtype(part.dtype.name)
    except TypeError:
        return None
    return Slot(part.dtype.name, tuple(int(size or 0) for size in part.shape.as_list()))


def _is_text(part: tf.TensorSpec) -> bool:
    return part.dtype == tf.string and part.shape.rank == 0


def _stored(dtype: str) -> tf.DType:
    """NumPy has no bfloat16 of its own, so its bits are kept as an integer."""
    return tf.uint16 if dtype == "bfloat16" else tf.as_dtype(dtype)


def _encoded(value: Any, slot: Slot) -> Any:
    value = tf.bitcast(value, tf.uint16) if slot.dtype == "bfloat16" else value
    return tf.ensure_shape(value, slot.shape)


def _decoded(value: Any, slot: Slot) -> Any:
    return tf.bitcast(value, tf.bfloat16) if slot.dtype == "bfloat16" else value


def _fitted(element: Any, spec: Any) -> Any:
    """Returns `element` with what tf.data takes for tensors turned into them, as it does."""
    if isinstance(spec, tf.TensorSpec):
        return tf.convert_to_tensor(element, spec.dtype)
    if isinstance(spec, Mapping):
        return {key: _fitted(element[key], spec[key]) for key in spec}
    if isinstance(spec, tuple) and hasattr(spec, "_fields"):
        pairs = zip(element, spec, strict=True)
        return type(spec)(*(_fitted(item, part) for item, part in pairs))
    if isinstance(spec, (tuple, list)):
        return type(spec)(_fitted(item, part) for item, part in zip(element, spec, strict=True))
    return element


def _names(spec: Any) -> tuple[str, ...]:
    """Returns a name for each component, such as "0/image" of a pair."""
    return tuple(name.lstrip("/") or "element" for name in _walk(spec, ""))


def _walk(spec: Any, path: str) -> list[str]:
    if isinstance(spec, Mapping):
        return [name for key in sorted(spec) for name in _walk(spec[key], f"{path}/{key}")]
    if isinstance(spec, (tuple, list)):
        return [name for at, item in enumerate(spec) for name in _walk(item, f"{path}/{at}")]
    count = len(tf.nest.flatten(spec, expand_composites=True))
    return [path] if count == 1 else [f"{path}:{at}" for at in range(count)]
