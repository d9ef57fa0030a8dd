"""A store as a tf.data pipeline: rows that are there in whole blocks, the others through parse.

With `Skipping` a row that cannot be made is zeros until its block is complete, and then dropped.

Row numbers come in sections. A section whose rows are all there is read by one call into NumPy a
block and nothing else. In any other each row that is missing goes through the source and parse,
all in parallel as without a store; then one call a block takes what was made, and adds the rest.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.store.claims import new_token
from estimator_io.store.layout import numpy_dtype
from estimator_io.store.rows import Block, Rows
from estimator_io.store.skipping import SkippingRows
from estimator_io.store.spec import Codec

__all__ = ["Reading", "read_by_index", "read_in_order"]

# Rows whose presence is looked up at once. Each section costs two small pipelines (about 30 ms of a
# processor), and rows of one that lacks any go one by one (about 30 µs each).
SECTION_ROWS = 8192
FIRST_UNKNOWN = 1 << 62


@dataclasses.dataclass(frozen=True)
class Reading:
    """How rows are read and made.

    Attributes:
      rows: the store; `SkippingRows` where rows that cannot be made are left out, which lets blocks
        have fewer rows.
      codec: between elements and rows.
      row_of: returns the row of its number, int64 [], and a raw row, which the source yields.
      row_of_number: returns the row with a number, int64 [].
      raw_blocks: returns a Dataset of the raw rows of the blocks of row numbers in a Dataset.
      block: rows that are read at once.
      drop_remainder: whether a last block that is smaller is dropped.
      parallel: the keyword arguments of the map that makes rows.
      reads: calls that read at once.
      waits: whether rows that another reader is making are waited for.
      keys: a Dataset of the keys of blocks of rows, which then stand before their values; for rows
        by index alone.
    """

    rows: Rows | SkippingRows
    codec: Codec
    row_of: Callable[[Any, Any], Any]
    row_of_number: Callable[[Any], Any]
    raw_blocks: Callable[[tf.data.Dataset], tf.data.Dataset]
    block: int
    drop_remainder: bool
    parallel: dict[str, Any]
    reads: int
    waits: bool
    keys: tf.data.Dataset | None = None

    @property
    def skips(self) -> bool:
        """Whether rows that cannot be made are left out."""
        return isinstance(self.rows, SkippingRows)


def read_by_index(indices: tf.data.Dataset, reading: Reading) -> tf.data.Dataset:
    """Returns blocks of the rows with numbers `indices`, in that order."""
    if reading.rows.is_whole():
        return _whole(indices, reading)
    return _in_sections(indices, reading)


def read_in_order(raw: tf.data.Dataset, reading: Reading) -> tf.data.Dataset:
    """Returns blocks of all rows of the stream `raw`, which is not read once all are there."""
    dataset: Any = tf.data.Dataset
    rows = reading.rows
    if rows.is_whole() and not reading.skips:  # or what the source passed over must be told too
        return _whole(dataset.range(rows.total), reading)

    def known(_: Any) -> Any:
        def count() -> np.int64:
            total = rows.total
            there = total is not None and rows.has_all(np.arange(total))
            if there and isinstance(rows, SkippingRows):
                rows.tell_lost()
            return np.int64(total if there else -1)  # type: ignore[arg-type]

        return tf.ensure_shape(tf.numpy_function(count, [], tf.int64), [])

    def one_pass(total: Any) -> Any:
        there = _read_blocks(tf.range(tf.maximum(total, 0)), reading)
        numbers = dataset.range(tf.where(total < 0, FIRST_UNKNOWN, 0)).batch(reading.block)
        unread = raw.take(tf.where(total < 0, tf.constant(-1, tf.int64), 0))

        def rows(token: Any) -> Any:
            return dataset.zip((_claimed(numbers, token, reading).unbatch(), unread))

        return there.concatenate(_make_missing(rows, reading, to_end=True))

    return _all_completed(dataset.range(1).map(known).flat_map(one_pass), reading)


def _whole(numbers: tf.data.Dataset, reading: Reading) -> tf.data.Dataset:
    """Returns blocks of rows that are all there: a plain map, which costs nothing to begin."""
    mends = not reading.rows.is_whole(checked=True)

    def read(block: Any, *keys: Any) -> tuple[Any, ...]:
        missing, *values = _call(reading, _read_all(reading.rows, mends), [block])
        values = _completed(block, missing, values, reading) if mends else tuple(values)
        return _good(block, (*keys, *values), reading)

    blocks = numbers.batch(reading.block, drop_remainder=reading.drop_remainder)
    blocks = blocks if reading.keys is None else tf.data.Dataset.zip((blocks, reading.keys))
    return blocks.map(read, num_parallel_calls=reading.reads, deterministic=True)


def _read_all(rows: Rows | SkippingRows, mends: bool) -> Callable[[np.ndarray], Block]:
    def read(numbers: np.ndarray) -> Block:
        block = rows.read(numbers)
        if not mends and block.missing.any():
            raise RuntimeError(
                "The store lost rows while they were read: its folder was removed or changed. Run"
                " the program again, and it makes them anew."
            )
        return block

    return read


def _in_sections(indices: tf.data.Dataset, reading: Reading) -> tf.data.Dataset:
    size = reading.block * max(1, SECTION_ROWS // reading.block)
    blocks = indices.batch(size).interleave(
        lambda section: _section(section, reading),
        cycle_length=1,
        num_parallel_calls=1,
        deterministic=True,
    )
    return _all_completed(blocks, reading)


def _section(section: Any, reading: Reading) -> tf.data.Dataset:
    def has_all(numbers: np.ndarray) -> bool:
        reading.rows.touch()
        return reading.rows.has_all(numbers)

    ready = tf.ensure_shape(tf.numpy_function(has_all, [section], tf.bool), [])
    there = section[: tf.where(ready, tf.size(section), 0)]
    unmade = section[tf.where(ready, tf.size(section), 0) :]
    blocks = _blocks(unmade, reading.block)
    raw = reading.raw_blocks(blocks)

    def rows(token: Any) -> Any:
        both: Any = tf.data.Dataset.zip((_claimed(blocks, token, reading), raw))
        return both.unbatch()

    return _read_blocks(there, reading).concatenate(_make_missing(rows, reading))


def _blocks(section: Any, block: int) -> Any:
    """Returns a Dataset of the row numbers of a section, `block` at once."""
    starts: Any = tf.data.Dataset.range(0, tf.size(section, out_type=tf.int64), block)
    return starts.map(lambda start: section[start : start + block])


def _read_blocks(section: Any, reading: Reading) -> tf.data.Dataset:
    """Returns (numbers, missing, *values) of blocks of rows that were there a moment ago."""
    size = tf.size(section, out_type=tf.int64)
    if reading.drop_remainder:
        size -= size % reading.block
    starts: Any = tf.data.Dataset.range(0, size, reading.block)

    def read(start: Any) -> tuple[Any, ...]:
        numbers = section[start : start + reading.block]
        return (numbers, *_call(reading, reading.rows.read, [numbers]))

    return starts.map(read, num_parallel_calls=reading.reads, deterministic=True)


def _all_completed(blocks: tf.data.Dataset, reading: Reading) -> tf.data.Dataset:
    """Returns the values of blocks (numbers, missing, *values), with no row missing any more.

    It stands behind all that makes blocks, so that TensorFlow prepares what mends them once.
    """

    def complete(block: Any, *keys: Any) -> tuple[Any, ...]:
        numbers, missing, *values = block
        made = _completed(numbers, missing, tuple(values), reading)
        return _good(numbers, (*keys, *made), reading)

    if reading.keys is not None:
        blocks = tf.data.Dataset.zip((blocks, reading.keys))
        return blocks.map(complete, num_parallel_calls=reading.reads, deterministic=True)
    return blocks.map(
        lambda *block: complete(block), num_parallel_calls=reading.reads, deterministic=True
    )


def _make_missing(
    rows: Callable[[Any], Any], reading: Reading, *, to_end: bool = False
) -> tf.data.Dataset:
    """Returns (numbers, missing, *values) of blocks of rows, made where they are missing.

    Args:
      rows: returns the Dataset of ((number, whether to make it), raw row) for a reader's token.
      reading: how rows are made.
      to_end: whether the end of the rows is that of the source, and is noted.
    """
    tokens: Any = tf.data.Dataset.range(1).map(lambda _: _number(new_token))

    def blocks(token: Any) -> tf.data.Dataset:
        made = rows(token).map(functools.partial(_make, reading=reading), **reading.parallel)
        made = made.batch(reading.block, drop_remainder=reading.drop_remainder)
        taken = made.map(
            functools.partial(_take, token=token, reading=reading),
            num_parallel_calls=reading.reads,
            deterministic=True,
        )
        return taken.concatenate(_end(taken, token, reading)) if to_end else taken

    return tokens.flat_map(blocks)


def _claimed(blocks: tf.data.Dataset, token: Any, reading: Reading) -> Any:
    """Returns (numbers, which of them this reader is to make) of each block of row numbers."""

    def which(rows: np.ndarray, token: np.ndarray) -> np.ndarray:
        return reading.rows.claim(rows, int(token), exclusive=reading.waits)

    def claim(block: Any) -> Any:
        mine = tf.numpy_function(which, [block, token], tf.bool)
        return block, tf.ensure_shape(mine, [None])

    return blocks.map(claim)


def _make(claim: Any, raw_row: Any, reading: Reading) -> Any:
    number, mine = claim
    codec = reading.codec
    row = tf.cond(mine, lambda: reading.row_of(number, raw_row), codec.no_row)
    return (number, mine, *row)


@tf.autograph.experimental.do_not_convert
def _take(numbers: Any, mine: Any, *values: Any, token: Any, reading: Reading) -> tuple[Any, ...]:
    """Hands over the rows that were made; returns (numbers, missing, *values) of the block."""
    rows = reading.rows

    def accept(token: Any, numbers: np.ndarray, mine: np.ndarray, *values: np.ndarray) -> Block:
        block = _block(rows, numbers, values)
        rows.accept(block.pick(mine))
        rows.advance(int(token), int(numbers.max()) + 1)
        if mine.all():  # the tensors go on as they are
            nothing = block.pick(~mine)
            return dataclasses.replace(nothing, missing=np.zeros(len(numbers), bool))
        if reading.waits:
            rows.await_others(numbers[~mine])
        return rows.merge(block, ~mine, rows.read(numbers[~mine]))

    missing, *merged = _call(reading, accept, [token, numbers, mine, *values])
    whole = tf.reduce_all(mine)
    return (numbers, missing, *tf.cond(whole, lambda: tuple(values), lambda: tuple(merged)))


@tf.autograph.experimental.do_not_convert
def _completed(numbers: Any, missing: Any, values: Any, reading: Reading) -> tuple[Any, ...]:
    """Makes the rows that nobody has made: damaged ones, and those of a reader that is gone."""
    rows, codec = reading.rows, reading.codec

    def add(numbers: np.ndarray, missing: np.ndarray, *values: np.ndarray) -> Block:
        half = len(values) // 2
        made = _block(rows, numbers[missing], values[half:])
        rows.accept(made)
        return rows.merge(_block(rows, numbers, values[:half]), missing, made)

    def mend() -> tuple[Any, ...]:
        made = tf.map_fn(
            reading.row_of_number,
            tf.boolean_mask(numbers, missing),
            fn_output_signature=codec.row_specs(),
        )
        _, *mended = _call(reading, add, [numbers, missing, *values, *made])
        return tuple(mended)

    return tf.cond(tf.reduce_any(missing), mend, lambda: tuple(values))


@tf.autograph.experimental.do_not_convert
def _good(numbers: Any, values: tuple[Any, ...], reading: Reading) -> tuple[Any, ...]:
    """Returns the values of a complete block, without those of rows that cannot be made."""
    rows = reading.rows
    if not isinstance(rows, SkippingRows):
        return values
    with tf.control_dependencies(values):  # only now it is known which are bad
        good = tf.ensure_shape(tf.numpy_function(rows.tell, [numbers], tf.bool), [None])

    def picked() -> tuple[Any, ...]:
        return tuple(tf.boolean_mask(value, good) for value in values)

    return tf.cond(tf.reduce_all(good), lambda: values, picked)


def _end(taken: Any, token: Any, reading: Reading) -> tf.data.Dataset:
    """Returns no row, but notes that all rows of the source were seen."""

    def note(token: Any) -> bool:
        reading.rows.end(int(token))
        return False

    ended = tf.data.Dataset.range(1).filter(
        lambda _: tf.ensure_shape(tf.numpy_function(note, [token], tf.bool), [])
    )
    spec = taken.element_spec
    return ended.map(lambda _: tuple(tf.zeros([0, *s.shape[1:]], s.dtype) for s in spec))


def _call(reading: Reading, function: Callable[..., Block], inputs: list[Any]) -> list[Any]:
    """Returns what is missing, and the rows of the block that `function` returns."""
    slots = list(reading.codec.layout.slots.values())
    specs = reading.codec.row_specs()

    def call(*arrays: np.ndarray) -> list[np.ndarray]:
        block = function(*arrays)
        typed = [
            values.view(numpy_dtype(slot.dtype)).reshape(len(values), *slot.shape)
            for values, slot in zip(block.slots, slots, strict=True)
        ]
        return [block.missing, *typed, block.payloads]

    dtypes = [tf.bool, *(spec.dtype for spec in specs)]
    outputs = tf.numpy_function(call, inputs, dtypes)
    outputs[0].set_shape([None])
    for output, spec in zip(outputs[1:], specs, strict=True):
        output.set_shape([None, *spec.shape])
    return outputs


def _block(rows: Rows | SkippingRows, numbers: np.ndarray, values: Sequence[np.ndarray]) -> Block:
    """Returns the block of typed slots and payloads, as they come out of the graph."""
    slots = []
    for value, slot in zip(values[:-1], rows.layout.slots.values(), strict=True):
        flat = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
        slots.append(flat.reshape(len(numbers), slot.row_bytes))
    return Block(numbers, slots, values[-1], np.zeros(len(numbers), bool))


def _number(draw: Callable[[], int]) -> Any:
    return tf.ensure_shape(tf.numpy_function(lambda: np.int64(draw()), [], tf.int64), [])
