"""How the rows of a store are made from those of its source, and what becomes of one that fails."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.ops.attempt import failure_of, text_of_failure
from estimator_io.plan.calls import Call, Plan, resolve
from estimator_io.sources.base import Order, RandomAccessSource, Source
from estimator_io.store.caching import Caching
from estimator_io.store.notes import Note
from estimator_io.store.skipping import SkippingRows, is_lasting
from estimator_io.store.spec import Codec

__all__ = ["Making", "plain_making", "skipping_making"]


@dataclasses.dataclass(frozen=True)
class Making:
    """How rows are made: as the fields of `graph.Reading` of these names, and a whole stream."""

    row_of: Callable[[Any, Any], Any]
    row_of_number: Callable[[Any], Any]
    raw_blocks: Callable[[Any], Any]
    stream: Callable[[], Any]


def plain_making(caching: Caching, order: Order, codec: Codec) -> Making:
    """Returns how rows are made where one that fails is an error."""
    source, functions = caching.source, _functions(caching)
    # Rows are made in several places of the graph, and traced once.
    row_of = tf.function(lambda raw: codec.to_row(_made(raw, functions)))
    stream = functools.partial(_raw_stream, source, order)
    indexed = isinstance(source, RandomAccessSource)
    take = functools.partial(source.take_calls, order) if indexed else None

    def row_of_number(number: Any) -> Any:
        return row_of(_raw_row(number, take, stream))

    return Making(
        row_of=lambda number, raw: row_of(raw),
        row_of_number=tf.function(row_of_number, input_signature=[tf.TensorSpec([], tf.int64)]),
        raw_blocks=functools.partial(_raw_blocks, take=take),
        stream=stream,
    )


def skipping_making(caching: Caching, order: Order, codec: Codec, rows: SkippingRows) -> Making:
    """Returns how rows are made that may fail: zeros then, and noted before they are."""
    source, skipping = caching.source, caching.skipping
    assert skipping is not None
    raw_calls = skipping.raw_calls
    functions = _functions(caching)

    def make(where: Any, raw: Any) -> Any:
        del where
        return codec.to_row(_made(raw, functions))

    def stream() -> Any:
        return Plan(tuple(raw_calls(rows.add_lost))).build()

    told = {"make": make, "traced": tf.function(make), "codec": codec, "rows": rows}
    guarded = tf.function(lambda number, raw: _guarded(number, raw, **told))
    indexed = isinstance(source, RandomAccessSource)
    take = functools.partial(source.located_take_calls, order) if indexed else None

    def row_of_number(number: Any) -> Any:
        return guarded(number, _raw_row(number, take, stream))

    return Making(
        row_of=guarded,
        row_of_number=tf.function(row_of_number, input_signature=[tf.TensorSpec([], tf.int64)]),
        raw_blocks=functools.partial(_raw_blocks, take=take),
        stream=stream,
    )


@tf.autograph.experimental.do_not_convert
def _guarded(
    number: Any, raw: Any, *, make: Any, traced: Any, codec: Codec, rows: SkippingRows
) -> Any:
    """Returns the row that `make` makes of `raw`, (where, row); zeros, and noted, if it fails.

    `traced` is `make` as a tf.function, in which AutoGraph converts what the user wrote.
    """
    dataset: Any = tf.data.Dataset
    one = dataset.from_tensors(raw)
    spec = one.element_spec
    tries = one.map(lambda where, row: (True, *traced(where, row))).ignore_errors()
    none = dataset.range(1).map(lambda _: (False, *codec.no_row()))
    good, *values = tries.concatenate(none).take(1).get_single_element()

    def note(number: np.ndarray, *leaves: np.ndarray) -> np.bool_:
        error = failure_of(make, spec, leaves)
        bad = Note(int(number), int(leaves[0]), text_of_failure(error))
        rows.add(bad, lasting=is_lasting(error))
        return np.True_

    def noted() -> Any:
        leaves = tf.nest.flatten(raw, expand_composites=True)
        return tf.ensure_shape(tf.numpy_function(note, [number, *leaves], tf.bool), [])

    done = tf.cond(good, lambda: tf.constant(True), noted)
    with tf.control_dependencies([done]):
        return tuple(tf.identity(value) for value in values)


def _functions(caching: Caching) -> list[Callable[..., Any]]:
    skipping = caching.skipping
    decode = caching.source.decode if skipping is None else skipping.decode
    both = (decode, caching.make or caching.parse)
    return [resolve(function) for function in both if function is not None]


def _made(raw: Any, functions: Any) -> Any:
    element = raw
    for function in functions:
        element = function(*element) if isinstance(element, tuple) else function(element)
    return element


def _raw_stream(source: Source, order: Order) -> Any:
    calls = source.calls(order)
    if source.takes_blocks:
        calls.append(Call("read", "unbatch"))
    return Plan(tuple(calls)).build()


@tf.autograph.experimental.do_not_convert
def _raw_blocks(blocks: Any, *, take: Callable[[], list[Call]] | None) -> Any:
    """Returns the raw rows of blocks of row numbers, of a source with random access."""
    assert take is not None
    calls: Any = take()
    for call in calls:
        blocks = getattr(blocks, call.method)(*resolve(call.args), **resolve(call.kwargs))
    return blocks


@tf.autograph.experimental.do_not_convert
def _raw_row(number: Any, take: Callable[[], list[Call]] | None, stream: Callable[[], Any]) -> Any:
    """Returns one raw row: by its number where rows can be taken, else by reading the stream."""
    if take is None:
        return stream().skip(number).take(1).get_single_element()
    rows = tf.expand_dims(number, 0)
    for call in take():
        rows = resolve(call.args[0])(rows)
    return tf.nest.map_structure(lambda column: column[0], rows)
