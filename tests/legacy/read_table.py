"""Reads every input function of the table, as it is and accelerated, and prints what differs.

Arguments: "graph" or "eager", "v1" or "v2" for TensorFlow's behaviour, the folder of the files, and
optionally the names of cases.
"""

from __future__ import annotations

import contextlib
import json
import random
import sys
import traceback
from typing import Any

import numpy as np
import tensorflow as tf

if "v1" in sys.argv:
    tf.compat.v1.disable_v2_behavior()

from estimator_io import accelerate
from tests.legacy.table import CASES, Case, Dataset, World, slices

v1 = tf.compat.v1
LIMIT = 7
GIVEN = {"mode": "train", "params": {"batch_size": 8}, "config": "config"}


def seed() -> None:
    random.seed(3)
    np.random.seed(3)
    tf.compat.v1.set_random_seed(3)


def call(function: Any) -> Any:
    """Calls as the Estimator does: by the names that the function has."""
    if not isinstance(function, type(accelerate(Dataset.range))):
        names = accelerate(function).function.takes
        return function(**{name: GIVEN[name] for name in names if name in GIVEN})
    return function(**GIVEN)


def read_graph(function: Any, world: World) -> tuple[Any, list[Any], int]:
    """Returns the structure, the elements, and the bytes of the largest constant."""
    with tf.Graph().as_default() as graph:
        seed()
        v1.train.create_global_step()
        tf.random.uniform([])  # something takes seeds before the function does, as models do
        result = call(function)
        if isinstance(result, (tf.data.Dataset, v1.data.Dataset)):
            iterator = v1.data.make_initializable_iterator(result)
            v1.add_to_collection("table_initializer", iterator.initializer)
            result = iterator.get_next()
        if isinstance(result, (list, tuple)) and len(result) == 2:
            result = result[0] if result[1] is None else tuple(result)
        after = tf.random.uniform([])  # and after it
        with v1.train.MonitoredSession(hooks=[Hook(world)]) as session:
            elements = []
            with contextlib.suppress(tf.errors.OutOfRangeError):
                while len(elements) < LIMIT:
                    elements.append(session.run((result, after)))
        return spelled(result), elements, largest(graph)


class Hook(tf.compat.v1.train.SessionRunHook):
    """Does what a program's hooks would do."""

    def __init__(self, world: World) -> None:
        self.world = world

    def after_create_session(self, session: Any, coord: Any) -> None:
        if self.world.hook is not None:
            self.world.hook(session)


def read_eager(dataset: Any) -> tuple[Any, list[Any]]:
    elements = list(dataset.take(LIMIT))
    arrays = [
        tf.nest.map_structure(lambda t: t.numpy(), e, expand_composites=True) for e in elements
    ]
    return str(dataset.element_spec), arrays


def spelled(result: Any) -> str:
    return str(tf.nest.map_structure(tf.type_spec_from_value, result))


def largest(graph: Any) -> int:
    graph_def = graph.as_graph_def()
    nodes = [*graph_def.node, *(n for f in graph_def.library.function for n in f.node_def)]
    return max((n.attr["value"].ByteSize() for n in nodes if n.op == "Const"), default=0)


def same(one: Any, other: Any) -> bool:
    """Whether two nests of arrays are the same, byte for byte."""
    left, right = (tf.nest.flatten(nest, expand_composites=True) for nest in (one, other))
    return len(left) == len(right) and all(
        np.asarray(a).dtype == np.asarray(b).dtype
        and np.asarray(a).shape == np.asarray(b).shape
        and np.asarray(a).tolist() == np.asarray(b).tolist()
        for a, b in zip(map(values, left), map(values, right), strict=True)
    )


def nearly(one: Any, other: Any) -> bool:
    """Whether two nests of arrays are the same but for the last bits of floats."""
    left, right = tf.nest.flatten(one), tf.nest.flatten(other)
    return len(left) == len(right) and all(
        np.allclose(a, b, 1e-6, 1e-6) for a, b in zip(left, right, strict=True)
    )


def values(leaf: Any) -> Any:
    ragged = isinstance(leaf, v1.ragged.RaggedTensorValue)
    if ragged or isinstance(leaf, v1.SparseTensorValue):
        return np.array([str(leaf)])
    return leaf


def world_of(folder: str) -> World:
    world = World(folder)
    world.outside = slices(40).map(lambda f, y: ({"x": f["x"] * 3}, y))
    return world


def compare(found: Case, folder: str, how: str) -> dict[str, Any]:
    world, other = world_of(folder), world_of(folder)
    function = accelerate(found.make(other))
    if how == "eager":
        seed()
        spec, theirs = read_eager(function(**GIVEN))
        ours = reference_outside(found, world) or reference(found, world)
        structure = ours[0] is None or ours[0] == spec
        elements, bytes_held = ours[1], 0
    else:
        spec, theirs, bytes_held = read_graph(function, other)
        ours = reference_outside(found, world) or read_graph(found.make(world), world)
        structure, elements = ours[0] is None or ours[0] == spec, ours[1]
        if ours[0] is None:
            theirs = [element for element, _ in theirs]
    alike = nearly if found.rounds and how == "eager" else same
    changes = function.changes("train")
    return {
        "structure": structure or f"{ours[0]} != {spec}",
        "elements": len(elements),
        "same": len(elements) == len(theirs)
        and all(alike(a, b) for a, b in zip(elements, theirs, strict=True)),
        "largest": bytes_held,
        "untouched": any(change.done == "left as it is" for change in changes),
        "changes": [f"{change.what} → {change.done}" for change in changes if change.changed],
        "why": [change.why for change in changes if not change.changed],
    }


def reference(found: Case, world: World) -> tuple[Any, list[Any]]:
    """Returns what the function yields: outside of graphs where it can, else in one."""
    seed()
    try:
        result = call(found.make(world))
    except Exception:
        result = None
    if isinstance(result, tf.data.Dataset):
        return read_eager(result)
    # In a graph without what read_graph does before the function.
    with tf.Graph().as_default():
        seed()
        result = call(found.make(world))
        if isinstance(result, (list, tuple)) and len(result) == 2:
            result = result[0] if result[1] is None else tuple(result)
        with v1.train.MonitoredSession() as session:
            elements = []
            with contextlib.suppress(tf.errors.OutOfRangeError):
                while len(elements) < LIMIT:
                    elements.append(session.run(result))
        return None, elements


def reference_outside(found: Case, world: World) -> tuple[Any, list[Any]] | None:
    """Returns what is meant by a function that uses a Dataset from outside of the graph."""
    if not found.fails_alone:
        return None
    rows = world_rows()
    batches = [rows[at : at + 8] for at in range(0, len(rows), 8)]
    name = found.make.args[0].__name__
    if name == "made_outside":
        return None, [({"x": x}, y) for x, y in rows[:LIMIT]]
    stacked = [
        (np.stack([x + 1 for x, _ in batch]), np.array([y for _, y in batch])) for batch in batches
    ]
    if name == "iterator_of_what_was_made_outside":
        return None, [({"x": x * 2}, y) for x, y in stacked[:LIMIT]]
    return None, stacked[:LIMIT]


def world_rows() -> list[tuple[np.ndarray, np.int64]]:
    from tests.legacy.table import ARRAY, LABELS

    return [(ARRAY[at] * np.float32(3), LABELS[at]) for at in range(40)]


def main() -> None:
    how, folder = sys.argv[1], sys.argv[3]
    names = sys.argv[4:] or list(CASES)
    report = {}
    for name in names:
        if how == "eager" and CASES[name].graph_only:
            continue
        try:
            report[name] = compare(CASES[name], folder, how)
        except BaseException:
            report[name] = {"error": traceback.format_exc()}
    print("\nREPORT" + json.dumps(report))


main()
