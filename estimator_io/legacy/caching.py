"""What maps of a legacy pipeline made of a row of its arrays, kept in a store.

The store knows rows by number. A pipeline that slices arrays (file names, most often), shuffles and
repeats them, and maps them, has such numbers: the same shuffles and repeats over a range of numbers
give the order, and the store the rows. So an order that changes from epoch to epoch goes on to.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import StoreError
from estimator_io.legacy.blueprint import Blueprint
from estimator_io.legacy.changes import Change
from estimator_io.legacy.internals import dataset_ops
from estimator_io.legacy.key import key_of
from estimator_io.legacy.nodes import PYTHON_OPERATIONS, Nodes, function_name, node_of
from estimator_io.plan.identity import UnhashableError
from estimator_io.store import graph
from estimator_io.store.kept import kept_in_memory
from estimator_io.store.spec import Codec
from estimator_io.store.store import Store

__all__ = ["Cache"]

_SHUFFLES = ("ShuffleDataset", "ShuffleAndRepeatDataset")
_ORDERS = ("Repeat", "Take", "Skip", "Shard", "Prefetch", "Options")
_MAPS = frozenset({"MapDataset", "ParallelMapDatasetV2"})
_BLOCK_ROWS, _BLOCK_BYTES = 64, 4 << 20
READS_AT_ONCE = 2


class _NoPlace(Exception):  # noqa: N818 - it says why there is no cache
    """A pipeline has no part that a cache could keep."""


@dataclasses.dataclass(frozen=True)
class _Place:
    """The part of a pipeline whose rows can be kept.

    Attributes:
      leaf: slices the arrays.
      orders: says which rows come when, from the arrays on.
      maps: makes the rows, in order.
      columns: the arrays.
    """

    leaf: Any
    orders: list[Any]
    maps: list[Any]
    columns: list[np.ndarray]


@dataclasses.dataclass(frozen=True)
class _Batch:
    """What makes batches of the rows as they come out of the last map.

    Attributes:
      node: of the graph.
      rows: of a batch.
      drop_remainder: whether a last batch that is smaller is dropped.
    """

    node: Any
    rows: int
    drop_remainder: bool


class Cache:
    """Rows of one accelerated input function.

    Args:
      where: "memory", a folder or a Store.
    """

    def __init__(self, where: Any) -> None:
        self.where = where if where == "memory" or isinstance(where, Store) else Store(where)

    def insert(self, blueprint: Blueprint, output: str, *, batches: bool = True) -> Change:
        """Puts the store in the place of the maps that make rows, if there are such.

        A batch of these rows is read from the store as a whole: taken apart and put together again
        its rows would be copied twice more.

        Args:
          blueprint: of the pipeline; its graph is changed.
          output: the tensor of its last Dataset.
          batches: whether a batch behind the rows keeps its size.

        Returns:
          What was done, or why nothing was.
        """
        try:
            place = _place(blueprint, output)
            key = key_of(blueprint, place.maps, place.columns)
            codec = Codec(_specs(place.maps[-1]))
            found = _batch_of(blueprint.nodes, place.maps[-1])
            batch = found if batches and codec.batches else None
            dataset = self._dataset(blueprint, place, key, codec, batch)
        except (_NoPlace, StoreError, UnhashableError, OSError) as reason:
            return Change("cache", "left out", str(reason), changed=False)
        last = place.maps[-1] if batch is None else batch.node
        name, names = last.name, ", ".join(map(function_name, place.maps))
        last.Clear()
        last.name, last.op = name, "Placeholder"
        blueprint.given[f"{name}:0"] = dataset._variant_tensor
        blueprint.nodes.kept.append(dataset)
        total = len(place.columns[0])
        where = "memory" if self.where == "memory" else self.where.folder
        reason = f"each of {total:,} rows is made once; shuffles and repeats go on as they were"
        return Change(f"map({names})", f"cache in {where}", reason)

    def _dataset(
        self, blueprint: Blueprint, place: _Place, key: str, codec: Codec, batch: _Batch | None
    ) -> Any:
        """Returns the Dataset of the rows or batches, in the order of the pipeline."""
        total = len(place.columns[0])
        rows = self._rows(key, codec, total, place)
        columns = [_tensor(column) for column in place.columns]
        captured = [blueprint.build(_captured(one)) for one in place.maps]
        makers = [
            _Maker(blueprint, one, tensors)
            for one, tensors in zip(place.maps, captured, strict=True)
        ]

        @tf.autograph.experimental.do_not_convert
        def row_of(raw: Any) -> Any:
            tensors = tf.nest.flatten(raw)
            for make in makers:
                tensors = make(tensors)
            return codec.to_row(tuple(tensors))

        def raw_blocks(blocks: Any) -> Any:
            return blocks.map(
                lambda numbers: tuple(tf.gather(column, numbers) for column in columns)
            )

        traced = tf.function(row_of, autograph=False)
        reading = graph.Reading(
            rows=rows,
            codec=codec,
            row_of=lambda number, raw: traced(raw),
            row_of_number=tf.function(
                lambda number: traced(tuple(tf.gather(column, number) for column in columns)),
                input_signature=[tf.TensorSpec([], tf.int64)],
                autograph=False,
            ),
            raw_blocks=raw_blocks,
            block=_rows_at_once(codec) if batch is None else batch.rows,
            drop_remainder=batch is not None and batch.drop_remainder,
            parallel={"num_parallel_calls": tf.data.AUTOTUNE, "deterministic": True},
            reads=READS_AT_ONCE,
            waits=False,
        )
        blocks = graph.read_by_index(_order(blueprint, place, total), reading)
        if batch is not None:
            size = batch.rows if batch.drop_remainder else None
            return blocks.map(
                lambda *rows: tuple(codec.to_batch(rows, size)), num_parallel_calls=READS_AT_ONCE
            )
        elements = blocks.unbatch()
        return elements.map(
            lambda *row: tuple(codec.to_element(row)), num_parallel_calls=tf.data.AUTOTUNE
        )

    def _rows(self, key: str, codec: Codec, total: int, place: _Place) -> Any:
        if not isinstance(self.where, Store):
            return kept_in_memory(self, key, codec.layout, total, None)
        names = [function_name(one) for one in place.maps]
        facts = {
            "key": key,
            "tensorflow": tf.__version__,
            "source": f"{total:,} rows of arrays of a legacy input_fn",
            "parse": " ".join(names),
            "decode": None,
        }
        opened = self.where.open(key, codec.layout, rows=total, facts=facts, fill="background")
        return opened.rows


class _Maker:
    """Calls the function of a map in another place of the graph."""

    def __init__(self, blueprint: Blueprint, mapping: Any, captured: list[Any]) -> None:
        self._captured = captured
        part = tf.compat.v1.GraphDef()
        part.versions.CopyFrom(blueprint.nodes.graph_def.versions)
        node = part.node.add(name="call", op="StatefulPartitionedCall")
        node.attr["f"].func.name = mapping.attr["f"].func.name
        function = blueprint.nodes.functions[mapping.attr["f"].func.name]
        taken = [argument.type for argument in function.signature.input_arg]
        node.attr["Tin"].list.type.extend(taken)
        given = [argument.type for argument in function.signature.output_arg]
        node.attr["Tout"].list.type.extend(given)
        node.input.extend(f"in_{at}:0" for at in range(len(taken)))
        blueprint.add_functions(part)
        self._part, self._outputs = part, len(given)
        self._shapes = [tf.TensorShape(s) for s in mapping.attr["output_shapes"].list.shape]

    def __call__(self, tensors: list[Any]) -> list[Any]:
        """Returns the components that the map makes of those of an element."""
        owner: Any = tf.compat.v1.get_default_graph()
        given = [owner.capture(tensor) for tensor in [*tensors, *self._captured]]
        fed = {f"in_{at}:0": tensor for at, tensor in enumerate(given)}
        wanted = [f"call:{at}" for at in range(self._outputs)]
        made = tf.graph_util.import_graph_def(self._part, fed, wanted, name="")
        for tensor, shape in zip(made, self._shapes, strict=True):
            tensor.set_shape(shape)
        return list(made)


def _place(blueprint: Blueprint, output: str) -> _Place:
    nodes = blueprint.nodes
    chain = _chain(nodes, output)
    leaf = chain[0]
    if leaf.op != "TensorSliceDataset":
        raise _NoPlace("rows have numbers only where the pipeline begins with from_tensor_slices")
    columns = [_known(blueprint, name) for name in leaf.input]
    if any(column is None for column in columns):
        raise _NoPlace("what from_tensor_slices is given is known only when the pipeline runs")
    orders, maps, kept = [], [], 0
    for node in chain[1:]:
        if _makes_rows(nodes, node):
            maps.append(node)
            kept = len(orders)
        elif node.op.startswith(_SHUFFLES) or _keeps_rows(node):
            orders.append(node)
        else:
            break
    if not maps:
        raise _NoPlace("no map of single rows stands between the arrays and the batch")
    return _Place(leaf, orders[:kept], maps, [column for column in columns if column is not None])


def _chain(nodes: Nodes, output: str) -> list[Any]:
    """Returns the Datasets from the first to the one of `output`, as far as each has one input."""
    node = nodes.by_name[node_of(output)]
    chain = [node]
    while node.op in ("Identity",) or (node.op.endswith(("Dataset", "V2", "V3")) and node.input):
        before = [nodes.by_name[node_of(name)] for name in node.input if name[0] != "^"]
        datasets = [one for one in before if "Dataset" in one.op]
        if len(datasets) != 1:
            break
        node = datasets[0]
        chain.append(node)
    return [one for one in reversed(chain) if one.op != "Identity"]


def _batch_of(nodes: Nodes, mapping: Any) -> _Batch | None:
    """Returns the batch that takes the rows of a map, where nothing else does."""
    takers = nodes.takers(mapping)
    if len(takers) != 1 or takers[0].op not in ("BatchDatasetV2", "ParallelBatchDataset"):
        return None
    rows = nodes.constant(takers[0].input[1])
    rest = nodes.constant(takers[0].input[-1])
    if rows is None or rest is None:
        return None
    return _Batch(takers[0], int(rows), bool(rest))


def _rows_at_once(codec: Codec) -> int:
    return max(1, min(_BLOCK_ROWS, _BLOCK_BYTES // max(1, codec.layout.slot_bytes)))


def _makes_rows(nodes: Nodes, node: Any) -> bool:
    if node.op not in _MAPS:
        return False
    states = nodes.states_in(node.attr["f"].func.name)
    return all(state in PYTHON_OPERATIONS for state in states)


def _keeps_rows(node: Any) -> bool:
    return node.op.startswith(_ORDERS) and node.op.rstrip("V234").endswith("Dataset")


def _known(blueprint: Blueprint, name: str) -> np.ndarray | None:
    value = blueprint.given.get(name if ":" in name else f"{name}:0")
    if value is None:
        value = blueprint.nodes.constant(name)
    return value if isinstance(value, np.ndarray) and value.ndim else None


def _specs(mapping: Any) -> tuple[tf.TensorSpec, ...]:
    types = mapping.attr["output_types"].list.type
    shapes = mapping.attr["output_shapes"].list.shape
    return tuple(
        tf.TensorSpec(tf.TensorShape(shape), tf.as_dtype(dtype))
        for dtype, shape in zip(types, shapes, strict=True)
    )


def _captured(mapping: Any) -> list[str]:
    number = len(mapping.attr["Targuments"].list.type)
    return [name if ":" in name else f"{name}:0" for name in mapping.input[1 : 1 + number]]


def _order(blueprint: Blueprint, place: _Place, total: int) -> Any:
    """Returns the Dataset of the numbers of the rows, shuffled and repeated as the rows are."""
    copied = tf.compat.v1.GraphDef()
    copied.CopyFrom(blueprint.nodes.graph_def)
    nodes = Nodes(copied)
    bounds = [nodes.add_constant(f"eio_{at}", at, "int64") for at in (0, total, 1)]
    before = nodes.by_name[place.leaf.name]
    del before.input[:]
    before.op = "RangeDataset"
    before.input.extend(bounds)
    for name in [name for name in before.attr if name not in ("output_shapes",)]:
        del before.attr[name]
    for order in (before, *(nodes.by_name[one.name] for one in place.orders)):
        order.attr["output_types"].list.Clear()
        order.attr["output_types"].list.type.append(tf.int64.as_datatype_enum)
        order.attr["output_shapes"].list.Clear()
        order.attr["output_shapes"].list.shape.add()
        if order is not before:
            order.input[0] = before.name
            before = order
    made = Blueprint(nodes, blueprint.given, blueprint.kept).build([f"{before.name}:0"])[0]
    return dataset_ops()._VariantDataset(made, tf.TensorSpec([], tf.int64))


def _tensor(array: np.ndarray) -> Any:
    if tf.executing_eagerly() or array.nbytes <= 1000:
        return tf.constant(array)
    dtype = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
    tensor = tf.numpy_function(lambda: array, [], dtype, name="host_array")
    return tf.ensure_shape(tensor, array.shape)
