"""The cache stage of a pipeline: where its rows are kept, and the call that reads them."""

from __future__ import annotations

import dataclasses
import functools
import logging
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.ops.store import without_store
from estimator_io.plan.calls import Call, Deferred, Plan, resolve
from estimator_io.sources.base import Order, Source
from estimator_io.store import graph
from estimator_io.store.kept import kept_in_memory
from estimator_io.store.key import generation_key
from estimator_io.store.rows import Rows
from estimator_io.store.spec import Codec
from estimator_io.store.store import Store

__all__ = ["Caching", "cache_call", "keeps_nothing", "open_rows"]

# Rows that are read at once where later stages work row by row, and their bytes at most.
BLOCK_ROWS = 64
READS_AT_ONCE = 2


@dataclasses.dataclass(frozen=True)
class Caching:
    """What the cache stage is asked for.

    Attributes:
      source: of the rows.
      parse: the user's function, or None.
      make: does what `parse` says, where that one runs elsewhere; None takes `parse` itself.
      cache: "memory", a folder or a Store.
      fill: "background" or "complete".
      memory_limit: bytes of rows in memory; None takes half of the memory.
      parallel: the keyword arguments of the map that parses.
      threads: of the pipeline.
      batch_size: rows a batch where the stage makes the batches, else None.
      drop_remainder: whether a last partial batch is dropped then.
    """

    source: Source
    parse: Callable[..., Any] | None
    cache: Any
    fill: str
    memory_limit: int | None
    parallel: dict[str, Any]
    threads: int
    make: Callable[..., Any] | None = None
    batch_size: int | None = None
    drop_remainder: bool = False


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
    codec = Codec(dataset.element_spec)
    rows = open_rows(caching, order, dataset.element_spec)
    if rows is None:
        return plain(dataset)
    whole = caching.batch_size is not None and codec.batches
    block = caching.batch_size or 1 if whole else _block_rows(codec)
    functions = _functions(caching)
    # Rows are made in several places of the graph, and traced once.
    row_of = tf.function(lambda raw: codec.to_row(_made(raw, functions)))
    reading = graph.Reading(
        rows=rows,
        codec=codec,
        row_of=row_of,
        row_of_number=tf.function(
            lambda number: row_of(_raw_row(number, source=caching.source, order=order)),
            input_signature=[tf.TensorSpec([], tf.int64)],
        ),
        raw_blocks=functools.partial(_raw_blocks, source=caching.source, order=order),
        block=block,
        drop_remainder=whole and caching.drop_remainder,
        parallel=caching.parallel,
        reads=READS_AT_ONCE,
        waits=caching.threads > 2 * READS_AT_ONCE - 1,
    )
    if caching.source.random_access:
        blocks = graph.read_by_index(_indices(caching.source, order), reading)
    else:
        blocks = graph.read_in_order(_raw_stream(caching.source, order), reading)
    if whole:
        size = caching.batch_size if caching.drop_remainder else None
        return blocks.map(lambda *row: codec.to_batch(row, size))
    elements = blocks.unbatch().map(lambda *row: codec.to_element(row), num_parallel_calls=-1)
    return plain(elements)


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
        None if source.random_access else _order_of_stream(order),
        verify_contents=isinstance(store, Store) and store.verify_contents,
        cache=cache if isinstance(cache, str) else str(cache),
    )
    if key is None:
        return None
    total = source.num_rows if source.random_access else None
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


def _order_of_stream(order: Order) -> dict[str, Any]:
    return {"shard": order.shard, "interleave": order.interleave, "shuffle": order.shuffle}


def _name(function: Any) -> str | None:
    if isinstance(function, functools.partial):
        return _name(function.func)
    return None if function is None else getattr(function, "__qualname__", type(function).__name__)


def _functions(caching: Caching) -> list[Callable[..., Any]]:
    both = (caching.source.decode, caching.make or caching.parse)
    return [resolve(function) for function in both if function is not None]


def _made(raw: Any, functions: Any) -> Any:
    element = raw
    for function in functions:
        element = function(*element) if isinstance(element, tuple) else function(element)
    return element


def _indices(source: Any, order: Order) -> Any:
    return Plan(tuple(source.index_calls(order))).build()


def _raw_stream(source: Source, order: Order) -> Any:
    calls = source.calls(order)
    if source.takes_blocks:
        calls.append(Call("read", "unbatch"))
    return Plan(tuple(calls)).build()


@tf.autograph.experimental.do_not_convert
def _raw_blocks(blocks: Any, *, source: Any, order: Order) -> Any:
    """Returns the raw rows of blocks of row numbers, of a source with random access."""
    for call in source.take_calls(order):
        blocks = getattr(blocks, call.method)(*resolve(call.args), **resolve(call.kwargs))
    return blocks


@tf.autograph.experimental.do_not_convert
def _raw_row(number: Any, *, source: Any, order: Order) -> Any:
    if not source.random_access:
        return _raw_stream(source, order).skip(number).take(1).get_single_element()
    rows = tf.expand_dims(number, 0)
    for call in source.take_calls(order):
        rows = resolve(call.args[0])(rows)
    return tf.nest.map_structure(lambda column: column[0], rows)
