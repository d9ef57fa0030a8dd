"""Datasets whose rows or batches pass through worker processes: blocks in, blocks out, in order."""

from __future__ import annotations

import dataclasses
import functools
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import StructureError, WorkerError
from estimator_io.workers.block import Task
from estimator_io.workers.columns import TEXT, Column, as_array
from estimator_io.workers.task import Outputs

__all__ = ["Work", "columns_of_element", "in_workers", "row_in_workers", "structure_of", "unread"]


@dataclasses.dataclass(frozen=True)
class Work:
    """How rows pass through the workers of one stage.

    Attributes:
      stage: the name of the stage.
      outputs: what its function returns.
      numbered: whether elements are (number, element), for seeds.
      batches: whether the function takes a batch as a whole; else row by row.
      takes_blocks: whether rows arrive in batches already.
      gives_blocks: whether rows leave in batches; their shapes must then be fixed.
      block: rows of a block, where they do not arrive in batches.
      drop_remainder: whether the last block is dropped if it is not full.
      in_flight: blocks under way at once.
      deterministic: whether blocks keep their order.
    """

    stage: str
    outputs: Outputs
    numbered: bool
    batches: bool = False
    takes_blocks: bool = False
    gives_blocks: bool = False
    block: int = 1
    drop_remainder: bool = False
    in_flight: int = 1
    deterministic: bool = True


def structure_of(spec: Any, stage: str, *, numbered: bool) -> Any:
    """Returns the structure of what a function takes, with the number of a leaf at each leaf.

    Raises:
      StructureError: a leaf is no dense tensor.
    """
    element = spec[1] if numbered else spec
    leaves = tf.nest.flatten(element)
    for leaf in leaves:
        dense = isinstance(leaf, tf.TensorSpec)
        if not dense or not (leaf.dtype.is_bool or leaf.dtype.is_numpy_compatible):
            raise StructureError(
                f"{stage} runs in worker processes, which take dense tensors. Received: {leaf}."
                " Expected: numbers and texts. Make it dense before (tf.sparse.to_dense,"
                " RaggedTensor.to_tensor, FixedLenFeature in place of VarLenFeature), or leave"
                f" {stage} out of processes."
            )
    return tf.nest.pack_sequence_as(element, list(range(len(leaves))))


def in_workers(dataset: Any, *, task: Task, work: Work) -> Any:
    """Returns `dataset` after the function of `task`, in the order in which its rows came."""
    even = all(leaf.shape.is_fully_defined() for leaf in _leaves(dataset.element_spec, work))
    whole = work.batches or work.takes_blocks
    blocks = dataset if whole else _blocks(dataset, work, even=even)
    spec = dataset.element_spec
    # TensorFlow keeps a Python function that an eagerly built Dataset calls for ever. It must not
    # keep the task, whose pool ends its workers when no task is left; the map of the Dataset does,
    # and goes with it. A graph keeps its functions itself, and drops them.
    held = weakref.ref(task) if tf.executing_eagerly() else lambda: task
    runner = _Runner(held, work, uneven=_uneven(spec, work) if not whole and not even else ())
    results = blocks.map(
        functools.partial(_run, spec=spec, work=work, runner=runner, task=task),
        num_parallel_calls=work.in_flight,
        deterministic=work.deterministic,
    )
    if work.batches or work.gives_blocks:
        return results
    shapes = work.outputs.shapes
    # TensorFlow's unbatch divides by the size of a row, and ends the process where that is 0.
    if all(None not in shape and 0 not in shape for shape in shapes):
        return results.unbatch()
    return results.flat_map(functools.partial(_rows, outputs=work.outputs))


@tf.autograph.experimental.do_not_convert
def row_in_workers(element: Any, *, task: Task, work: Work) -> Any:
    """Returns what the function of `task` makes of a single row, where rows are made one by one.

    Args:
      element: the tensors of the row.
      task: what to do with it.
      work: how rows pass; only stage and outputs count.
    """
    outputs = work.outputs
    held = weakref.ref(task) if tf.executing_eagerly() else lambda: task
    leaves = tf.nest.flatten(element)
    uneven = [not leaf.shape.is_fully_defined() for leaf in leaves]
    inputs: list[Any] = []
    for leaf, varies in zip(leaves, uneven, strict=True):
        if varies:
            inputs += [tf.reshape(leaf, [-1]), tf.shape(leaf, tf.int64)[tf.newaxis]]
        else:
            inputs.append(leaf[tf.newaxis])
    dtypes = []
    for leaf, name in enumerate(outputs.dtypes):
        dtypes += [_dtype(name)] if outputs.fixed(leaf) else [_dtype(name), tf.int64]
    runner = _Runner(held, work, uneven=uneven if any(uneven) else ())
    made = tf.numpy_function(runner, inputs, dtypes, name=work.stage)
    left = iter(made if isinstance(made, (list, tuple)) else [made])
    rows = []
    for leaf in range(len(outputs.dtypes)):
        values = next(left)
        rows.append(values[0] if outputs.fixed(leaf) else tf.reshape(values, next(left)[0]))
    return _with_structure(rows, outputs.shapes, outputs)


def unread(dataset: Any, *, work: Work) -> Any:
    """Returns a Dataset of the structure that `in_workers` gives, which nobody may read."""
    spec = dataset.element_spec
    row = dataclasses.replace(work, gives_blocks=work.takes_blocks)
    dtypes = [_dtype(name) for name in work.outputs.dtypes]

    @tf.autograph.experimental.do_not_convert
    def never(*_: Any) -> Any:
        tensors = tf.numpy_function(_refuse, [], dtypes)
        shapes = _shapes(row, spec) if row.batches or row.takes_blocks else row.outputs.shapes
        return _with_structure(tensors, shapes, row.outputs)

    made = dataset.map(never)
    if work.gives_blocks and not work.takes_blocks:
        return made.batch(work.block, drop_remainder=work.drop_remainder)
    return made.unbatch() if work.takes_blocks and not work.gives_blocks else made


def columns_of_element(element: Any, *, numbered: bool) -> list[Column]:
    """Returns the columns of a single row, `element`."""
    number, element = element if numbered else (None, element)
    leaves = [*tf.nest.flatten(element), *([number] if numbered else [])]
    arrays = [as_array(leaf)[np.newaxis] for leaf in leaves]
    return [Column.of(array, array.shape[1:]) for array in arrays]


class _Runner:
    """What TensorFlow calls with the tensors of a block.

    Args:
      held: returns the task.
      work: how rows pass.
      uneven: for each leaf, whether its rows differ in shape and so come with their shapes; empty
        where none do.
    """

    def __init__(self, held: Callable[[], Task | None], work: Work, uneven: Sequence[bool]) -> None:
        self._held = held
        self._work = work
        self._uneven = uneven

    def __call__(self, *arrays: Any) -> list[np.ndarray]:
        task = self._held()
        if task is None:
            raise WorkerError(
                f"{self._work.stage} cannot run: the Dataset that it belongs to is gone. Expected:"
                " that a Dataset is kept as long as its rows are read."
            )
        columns, rows = self._columns(arrays)
        return self._arrays(task.pool.run(task, columns, rows), rows)

    def _columns(self, arrays: Sequence[Any]) -> tuple[list[Column], int]:
        if self._work.batches:
            found = [as_array(array)[np.newaxis] for array in arrays]
            return [Column.of(array, array.shape[1:]) for array in found], 1
        left = iter(arrays)
        columns, rows = [], 0
        for uneven in self._uneven or [False] * len(arrays):
            values = next(left)
            shapes = next(left) if uneven else None
            rows = rows or len(values if shapes is None else shapes)
            if shapes is None:
                # Numbers of rows come in full blocks; the rows of the last one may be fewer.
                columns.append(Column.of(values[:rows], values.shape[1:]))
            else:
                columns.append(Column.of(values, None, shapes))
        return columns, rows

    def _arrays(self, columns: Sequence[Column], rows: int) -> list[np.ndarray]:
        arrays: list[np.ndarray] = []
        for column in columns:
            flat = column.all_texts() if column.dtype == TEXT else column.values
            if column.shape is not None:
                shaped = flat.reshape(rows, *column.shape)
                arrays.append(shaped[0] if self._work.batches else shaped)
            elif self._work.batches:
                arrays.append(flat.reshape(column.shapes[0]))  # type: ignore[index]
            else:
                arrays += [flat, column.shapes]  # type: ignore[list-item]
        return arrays


@tf.autograph.experimental.do_not_convert
def _run(*element: Any, spec: Any, work: Work, runner: _Runner, task: Task) -> Any:
    outputs = work.outputs
    rows_differ = not (work.batches or work.gives_blocks)
    dtypes = []
    for leaf, name in enumerate(outputs.dtypes):
        dtypes.append(_dtype(name))
        if rows_differ and not outputs.fixed(leaf):
            dtypes.append(tf.int64)
    tensors = tf.numpy_function(runner, _inputs(element, spec, work), dtypes, name=task.spec.stage)
    if len(dtypes) > len(outputs.dtypes):
        return tuple(tensors)
    return _with_structure(tensors, _shapes(work, spec), outputs)


def _inputs(element: tuple[Any, ...], spec: Any, work: Work) -> list[Any]:
    """Returns the tensors of a block: values, and where rows differ in shape their shapes."""
    if not (work.batches or work.takes_blocks) and any(_uneven(spec, work)):
        return [
            tensor.flat_values if isinstance(tensor, tf.RaggedTensor) else tensor
            for tensor in element
        ]
    return _leaves(element if isinstance(spec, tuple) else element[0], work)


def _blocks(dataset: Any, work: Work, *, even: bool) -> Any:
    """Returns `dataset` in blocks of rows; where they differ in shape, flat beside their shapes."""
    if even:
        return dataset.batch(work.block, drop_remainder=work.drop_remainder)
    spec = dataset.element_spec
    uneven = _uneven(spec, work)

    @tf.autograph.experimental.do_not_convert
    def flat(*element: Any) -> Any:
        tensors: list[Any] = []
        leaves = _leaves(element if isinstance(spec, tuple) else element[0], work)
        for leaf, varies in zip(leaves, uneven, strict=True):
            tensors += [tf.reshape(leaf, [-1]), tf.shape(leaf, tf.int64)] if varies else [leaf]
        return tuple(tensors)

    return dataset.map(flat).ragged_batch(work.block, drop_remainder=work.drop_remainder)


@tf.autograph.experimental.do_not_convert
def _rows(*block: Any, outputs: Outputs) -> Any:
    """Returns a Dataset of the rows of a block whose leaves come with their shapes."""
    left = iter(tf.nest.flatten(block))
    leaves = [
        (next(left), None if outputs.fixed(leaf) else next(left))
        for leaf in range(len(outputs.dtypes))
    ]
    ends = [None if s is None else tf.cumsum(tf.reduce_prod(s, axis=1)) for _, s in leaves]
    values, shapes = leaves[0]
    number = tf.shape(values if shapes is None else shapes, tf.int64)[0]

    @tf.autograph.experimental.do_not_convert
    def row(at: Any) -> Any:
        tensors = []
        for (values, shapes), end in zip(leaves, ends, strict=True):
            if shapes is None or end is None:
                tensors.append(values[at])
            else:
                shape = shapes[at]
                tensors.append(tf.reshape(values[end[at] - tf.reduce_prod(shape) : end[at]], shape))
        return _with_structure(tensors, outputs.shapes, outputs)

    return tf.data.Dataset.range(number).map(row)


def _leaves(element: Any, work: Work) -> list[Any]:
    """Returns the leaves of `element`, the number of the row last."""
    if not work.numbered:
        return tf.nest.flatten(element)
    number, element = element
    return [*tf.nest.flatten(element), number]


def _uneven(spec: Any, work: Work) -> list[bool]:
    return [not leaf.shape.is_fully_defined() for leaf in _leaves(spec, work)]


def _shapes(work: Work, spec: Any) -> list[Any]:
    """Returns the static shapes of what a map over blocks or batches gives."""
    if work.batches:
        return list(work.outputs.shapes)
    rows = work.block if work.drop_remainder else None
    if work.takes_blocks:
        rows = tf.nest.flatten(spec[1] if work.numbered else spec)[0].shape[0]
    return [(rows, *shape) for shape in work.outputs.shapes]


def _with_structure(tensors: Any, shapes: Sequence[Any], outputs: Outputs) -> Any:
    tensors = list(tensors) if isinstance(tensors, (list, tuple)) else [tensors]
    for tensor, shape in zip(tensors, shapes, strict=True):
        tensor.set_shape(shape)
    return tf.nest.pack_sequence_as(outputs.structure, tensors)


def _dtype(name: str) -> tf.DType:
    return tf.string if name == TEXT else tf.as_dtype(name)


def _refuse() -> Any:
    raise WorkerError("A Dataset that was made for its element_spec alone was read.")
