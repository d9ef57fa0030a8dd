"""The cache stage of a pipeline: where its rows are kept, and the call that reads them."""

from __future__ import annotations

import functools
import logging
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.ops.attempt import with_key
from estimator_io.ops.store import without_store
from estimator_io.plan.calls import Call, Deferred, Plan, resolve
from estimator_io.sources.base import Order, RandomAccessSource, Source
from estimator_io.store import graph
from estimator_io.store.caching import Caching, Skipping
from estimator_io.store.kept import kept_in_memory
from estimator_io.store.key import generation_key
from estimator_io.store.making import plain_making, skipping_making
from estimator_io.store.rows import Rows
from estimator_io.store.skipping import SkippingRows
from estimator_io.store.spec import Codec
from estimator_io.store.store import Store

__all__ = ["Caching", "Skipping", "cache_call", "keeps_nothing", "open_rows"]

# Rows that are read at once where later stages work row by row, and their bytes at most.
BLOCK_ROWS = 64
READS_AT_ONCE = 2


def keeps_nothing(source: Source, parse: Any) -> bool:
    """Whether a cache is no use: rows are had by index as they are."""
    return source.holds_arrays and source.decode is None and parse is None


def cache_call(caching: Caching, order: Order) -> Call:
    """Returns the call that turns the rows as they are made anew into those of the store.

    Args:
      caching: what is asked for.
      order: of the rows that the Dataset before it yields.
    """
    kwargs = {"batch_size": caching.batch_size, "drop_remainder": caching.drop_remainder}
    plain = functools.partial(without_store, **kwargs) if caching.batch_size else without_store
    reading = functools.partial(_stored, caching=caching, order=order, plain=plain)
    return Call("cache", "apply", (Deferred(lambda: reading, plain, plain),))


@tf.autograph.experimental.do_not_convert
def _stored(
    dataset: tf.data.Dataset, *, caching: Caching, order: Order, plain: Callable[..., Any]
) -> tf.data.Dataset:
    """Returns the rows of `dataset` from the store; what makes them runs where they are missing."""
    skipping = caching.skipping
    key = None if skipping is None else skipping.key
    codec = Codec(_without_key(dataset.element_spec, key))
    rows = open_rows(caching, order, codec.spec)
    if rows is None:
        return plain(dataset)
    whole = caching.batch_size is not None and codec.batches
    block = caching.batch_size or 1 if whole else _block_rows(codec)
    making = plain_making(caching, order, codec)
    if skipping is not None:
        rows = SkippingRows(rows, resolve(skipping.note))
        making = skipping_making(caching, order, codec, rows)
    source = caching.source
    indexed = source if isinstance(source, RandomAccessSource) else None
    reading = graph.Reading(
        rows=rows,
        codec=codec,
        block=block,
        drop_remainder=whole and caching.drop_remainder and skipping is None,
        parallel=caching.parallel,
        reads=READS_AT_ONCE,
        waits=caching.threads > 2 * READS_AT_ONCE - 1,
        keys=_keys(indexed, order).batch(block)
        if key is not None and indexed is not None
        else None,
        row_of=making.row_of,
        row_of_number=making.row_of_number,
        raw_blocks=making.raw_blocks,
    )
    if indexed is not None:
        blocks = graph.read_by_index(_indices(indexed, order), reading)
    else:
        blocks = graph.read_in_order(making.stream(), reading)
    if whole:
        if skipping is not None:
            blocks = _full(blocks, block, caching.drop_remainder)
        size = caching.batch_size if caching.drop_remainder else None
        return blocks.map(lambda *row: codec.to_batch(row, size))
    elements = blocks.unbatch().map(functools.partial(_element, codec, key), num_parallel_calls=-1)
    return plain(elements)


def _full(blocks: Any, size: int, drop_remainder: bool) -> Any:
    """Returns full batches of what blocks that lack some rows still hold."""
    some = blocks.filter(lambda *row: tf.greater(tf.shape(row[-1])[0], 0))
    return some.rebatch(size, drop_remainder=drop_remainder)


def _element(codec: Codec, key: str | None, *row: Any) -> Any:
    if key is None:
        return codec.to_element(row)
    return with_key(codec.to_element(row[1:]), row[0], key=key)


def _without_key(spec: Any, key: str | None) -> Any:
    """Returns the spec of an element without the feature that is its key."""
    if key is None:
        return spec
    features = spec[0] if isinstance(spec, tuple) else spec
    others = {name: part for name, part in features.items() if name != key}
    return (others, *spec[1:]) if isinstance(spec, tuple) else others


def _block_rows(codec: Codec) -> int:
    most = (4 << 20) // max(1, codec.layout.slot_bytes)
    return max(1, min(BLOCK_ROWS, most))


def open_rows(caching: Caching, order: Order, spec: Any) -> Rows | None:
    """Returns the rows of a pipeline's cache; None, with a warning, where they cannot be kept.

    Args:
      caching: what is asked for.
      order: of the rows of the source.
      spec: of an element.

    Raises:
      StoreError: the folder is no store, or the elements cannot be stored.
    """
    source, cache, layout = caching.source, caching.cache, Codec(spec).layout
    store = cache if cache == "memory" or isinstance(cache, Store) else Store(cache)
    key = generation_key(
        source,
        caching.parse,
        None if isinstance(source, RandomAccessSource) else _order_of_stream(caching, order),
        verify_contents=isinstance(store, Store) and store.verify_contents,
        cache=cache if isinstance(cache, str) else str(cache),
    )
    if key is None:
        return None
    total = source.num_rows if isinstance(source, RandomAccessSource) else None
    if not isinstance(store, Store):
        return kept_in_memory(source, key, layout, total, caching.memory_limit)
    facts = {
        "key": key,
        "tensorflow": tf.__version__,
        "source": source.describe(),
        "parse": _name(caching.parse),
        "decode": _name(source.decode),
    }
    try:
        opened = store.open(key, layout, rows=total, facts=facts, fill=caching.fill)
    except OSError as error:
        _warn_unwritable(store, error)
        return None
    return opened.rows


def _warn_unwritable(store: Store, error: OSError) -> None:
    if store.folder not in _WARNED:
        _WARNED.add(store.folder)
        logging.getLogger("estimator_io").warning(
            "cache=%r keeps nothing, since the folder cannot be written (%s). Training goes on, and"
            " makes every row anew in each pass.",
            store.folder,
            error.strerror or error,
        )


_WARNED: set[str] = set()


def _order_of_stream(caching: Caching, order: Order) -> dict[str, Any]:
    told = {"shard": order.shard, "interleave": order.interleave, "shuffle": order.shuffle}
    # What the source itself passes over has no number, so that those behind it have others.
    return told if caching.skipping is None else {**told, "on_error": "skip"}


def _name(function: Any) -> str | None:
    if isinstance(function, functools.partial):
        return _name(function.func)
    return None if function is None else getattr(function, "__qualname__", type(function).__name__)


def _indices(source: RandomAccessSource, order: Order) -> Any:
    return Plan(tuple(source.index_calls(order))).build()


def _keys(source: RandomAccessSource, order: Order) -> Any:
    return Plan(tuple(source.key_calls(order))).build()
