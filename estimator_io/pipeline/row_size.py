"""The bytes of a row or a batch: from its spec where that is static, else from a few rows."""

from __future__ import annotations

import dataclasses
import logging
from typing import Any

import tensorflow as tf

from estimator_io.pipeline.options import Options
from estimator_io.pipeline.reading import first_elements, leaves_of, spec_of
from estimator_io.pipeline.stages import rows_in_order
from estimator_io.plan.calls import Call, Plan
from estimator_io.sources.base import Order, Source

__all__ = ["TENSOR_BYTES", "row_bytes", "source_row_bytes", "spec_bytes"]

# What a tensor costs in a cache or a buffer beside its values: a scalar that is cached took 220 B
# in all, three of them 570 to 630 B, one in a shuffle buffer 175 B (TensorFlow 2.15.1 and 2.21.0).
TENSOR_BYTES = 200
MEASURED_ROWS = 8
_IN_ORDER = Order(shuffle=False, epochs=1, seed=0, buffer_size=1)


def row_bytes(source: Source, options: Options, *, read: bool = True) -> int | None:
    """Returns the mean bytes of a row behind parse, filter and flat_map, None where not known.

    Args:
      source: the source of the rows.
      options: of the pipeline; only the stages up to the cache matter.
      read: whether a few rows may be read where the spec does not tell.
    """
    plain = dataclasses.replace(options, cache=None, shuffle=False)
    return _known(
        source,
        _key(options),
        lambda: Plan(tuple(rows_in_order(source, plain, _IN_ORDER))),
        read=read,
    )


def _key(options: Options) -> Any:
    return ("rows", options.parse, options.filter, options.flat_map)


def source_row_bytes(source: Source, *, read: bool = True) -> int | None:
    """Returns the mean bytes of a row as the source's own shuffle buffer holds it."""
    told = source.shuffled_row_bytes()
    if told is not None:
        return told + TENSOR_BYTES
    unbatch = [Call("read", "unbatch")] if source.takes_blocks else []
    return _known(
        source, ("source",), lambda: Plan((*source.calls(_IN_ORDER), *unbatch)), read=read
    )


def spec_bytes(spec: Any, batch_size: int | None = None) -> int | None:
    """Returns the bytes of an element of `spec`, None where a shape or the length of texts varies.

    Args:
      spec: as `tf.data.Dataset.element_spec`.
      batch_size: what an unknown first dimension is; None leaves it unknown.
    """
    total = 0
    for leaf in tf.nest.flatten(spec):
        if (
            not isinstance(leaf, tf.TensorSpec)
            or leaf.dtype == tf.string
            or leaf.shape.rank is None
        ):
            return None
        shape = leaf.shape.as_list()
        if shape and shape[0] is None:
            shape[0] = batch_size
        if None in shape:
            return None
        size = leaf.dtype.size
        for dimension in shape:
            size *= dimension
        total += size + TENSOR_BYTES
    return total


def _known(source: Source, key: Any, make: Any, *, read: bool) -> int | None:
    """Returns what was found out before under `key`, or finds it out."""
    found = source.measured
    if key in found:
        return found[key][0]
    try:
        size = spec_bytes(spec_of(make()))
        if size is None and not read:
            return None
        found[key] = (_measured(make()) if size is None else size, size is not None)
        return found[key][0]
    except Exception as error:  # whatever it is, the pipeline itself will meet and report it
        logging.getLogger("estimator_io").debug("the size of a row is not known: %s", error)
        return None


def _measured(plan: Plan) -> int | None:
    rows = first_elements(plan, MEASURED_ROWS)
    if not rows:
        return None
    return -(-sum(_bytes(array) for row in rows for _, array in leaves_of(row)) // len(rows))


def _bytes(array: Any) -> int:
    if array.dtype.kind in "OSU":  # texts: their bytes, and what holds each
        return TENSOR_BYTES + sum(24 + len(text) for text in array.flat)
    return TENSOR_BYTES + array.nbytes
