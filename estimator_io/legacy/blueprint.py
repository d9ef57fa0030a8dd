"""A pipeline as a graph of its own, which can be built again in any other, or outside of graphs."""

from __future__ import annotations

import dataclasses
import uuid
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.legacy.internals import add_functions, array_of, eager_mode, is_eager_tensor
from estimator_io.legacy.nodes import Nodes, functions_of
from estimator_io.legacy.scratch import LARGEST_CONSTANT, Scratch
from estimator_io.legacy.trace import NotTraced

__all__ = ["Blueprint", "blueprint_of", "require_movable"]

_VARIABLES = frozenset({"VarHandleOp", "VariableV2", "Variable", "ReadVariableOp"})
_QUEUES = ("Queue", "Reader", "Barrier", "StagingArea")


@dataclasses.dataclass
class Blueprint:
    """A graph, and what its placeholders stand for.

    Attributes:
      nodes: the graph.
      given: arrays, or tensors from outside, by the name of the placeholder's tensor.
      kept: what has to live as long as what is built.
      threads: of the pipeline, where some of them wait for worker processes.
    """

    nodes: Nodes
    given: dict[str, Any]
    kept: Any = None
    threads: int = 0

    def build(
        self, wanted: list[str], before: list[str] | None = None, *, embedded: bool = False
    ) -> list[Any]:
        """Builds what some tensors depend on, in the current graph or eagerly.

        Args:
          wanted: the names of the tensors.
          before: the names of operations that fill tables, which a session runs first: they are
            added to the graph's table initializers, and outside of a graph run at once.
          embedded: whether arrays become constants of the graph, for one that is sent away.

        Returns:
          The tensors.

        Raises:
          NotTraced: they depend on a variable, a queue, or a placeholder that somebody has to feed.
        """
        starts = before or []
        computed = [name for name in wanted if name not in self.given]
        part, used = self._part([*computed, *starts])
        inputs = {
            name: _here(self.given[name], embedded)
            for name in {*used, *wanted}
            if name in self.given
        }
        fed = {name: inputs[name] for name in used}
        if tf.executing_eagerly():
            made = _run(part, fed, computed, starts)
        else:
            made = _imported(part, fed, [*computed, *starts])
            for op in made[len(computed) :]:
                tf.compat.v1.add_to_collection("table_initializer", op)
            _keep((self.kept, self.nodes.kept))
        known = {**inputs, **dict(zip(computed, made, strict=False))}
        return [known[name] for name in wanted]

    def add_functions(self, part: Any) -> None:
        """Adds the functions that the nodes of the GraphDef `part` call."""
        _add_functions(part, self.nodes)

    def _part(self, wanted: list[str]) -> tuple[Any, list[str]]:
        """Returns what `wanted` depends on, without placeholders, and the names of these."""
        part = tf.compat.v1.GraphDef()
        part.versions.CopyFrom(self.nodes.graph_def.versions)
        used = []
        for node in self.nodes.reachable(wanted):
            if node.op in ("Placeholder", "PlaceholderWithDefault"):
                if f"{node.name}:0" not in self.given:
                    raise NotTraced(
                        f"its result depends on the placeholder {node.name!r}, which the program"
                        " feeds by itself"
                    )
                used.append(f"{node.name}:0")
                continue
            require_movable(node.op, node.name)
            part.node.add().CopyFrom(node)
        _add_functions(part, self.nodes)
        return part, used


def require_movable(kind: str, name: str) -> None:
    """Refuses an operation whose state is the program's.

    Raises:
      NotTraced: it is a variable, or a queue.
    """
    if kind in _VARIABLES:
        raise NotTraced(f"its result depends on the variable {name!r}")
    if any(part in kind for part in _QUEUES):
        raise NotTraced(f"its rows come from {kind} {name!r}, which threads of its own fill")


def blueprint_of(source: Any) -> Blueprint:
    """Returns the blueprint of a graph, or of all that a variant outside of graphs stands for.

    Args:
      source: a tf.Graph, or the eager variant tensor of a Dataset. The last node of the blueprint
        of the latter is called "eio_output".
    """
    if isinstance(source, Scratch):
        return Blueprint(Nodes(source.as_graph_def()), dict(source.given), kept=source)
    if isinstance(source, tf.Graph):
        blueprint = Blueprint(Nodes(source.as_graph_def()), {}, kept=source)
    else:
        blueprint = Blueprint(Nodes(_serialized(source)), {}, kept=source)
    _lift_constants(blueprint)
    return blueprint


def _serialized(variant: Any) -> Any:
    with eager_mode():
        text = tf.raw_ops.DatasetToGraphV2(
            input_dataset=variant, external_state_policy=1, strip_device_assignment=False
        )
        graph_def = tf.compat.v1.GraphDef.FromString(text.numpy())
    last = next(node for node in graph_def.node if node.op == "_Retval")
    output = last.input[0]
    last.Clear()
    last.name, last.op = "eio_output", "Identity"
    last.input.append(output)
    last.attr["T"].type = tf.variant.as_datatype_enum
    return graph_def


def _lift_constants(blueprint: Blueprint) -> None:
    """Turns large constants of the graph into placeholders."""
    for node in blueprint.nodes.graph_def.node:
        if node.op != "Const" or node.attr["value"].ByteSize() <= LARGEST_CONSTANT:
            continue
        blueprint.given[f"{node.name}:0"] = array_of(node.attr["value"].tensor)
        node.op = "Placeholder"
        del node.attr["value"]


def _add_functions(part: Any, nodes: Nodes) -> None:
    """Adds the functions that the nodes of `part` call, and those that these call."""
    waiting = [name for node in part.node for name in functions_of(node)]
    seen: set[str] = set()
    while waiting:
        name = waiting.pop()
        if name in seen or name not in nodes.functions:
            continue
        seen.add(name)
        function = nodes.functions[name]
        part.library.function.add().CopyFrom(function)
        waiting += [name for node in function.node_def for name in functions_of(node)]


def _imported(part: Any, inputs: dict[str, Any], wanted: list[str]) -> list[Any]:
    return tf.graph_util.import_graph_def(
        part, input_map=inputs, return_elements=wanted, name="accelerated"
    )


def _run(part: Any, fed: dict[str, Any], wanted: list[str], starts: list[str]) -> list[Any]:
    """Returns the values of `wanted`, computed by a function that runs once."""
    _name_tables(part)
    add_functions(part.library.function)

    def everything(*given: Any) -> list[Any]:
        made = _imported(part, dict(zip(fed, given, strict=True)), [*wanted, *starts])
        with tf.control_dependencies(made[len(wanted) :]):
            return [tf.identity(tensor) for tensor in made[: len(wanted)]]

    return list(tf.function(everything, autograph=False)(*fed.values()))


def _name_tables(part: Any) -> None:
    """Gives tables a name of their own: outside of graphs all tables of a program share them."""
    for node in part.node:
        if "HashTable" in node.op and not node.attr["shared_name"].s:
            node.attr["shared_name"].s = f"{node.name}_{uuid.uuid4().hex}".encode()


def _here(value: Any, embedded: bool) -> Any:
    """Returns `value` as a tensor of the current graph, or an eager one."""
    eager = tf.executing_eagerly()
    if isinstance(value, np.ndarray):
        return tf.constant(value) if eager or embedded else _from_host(value)
    if is_eager_tensor(value):
        if eager:
            return value
        if value.dtype == tf.variant:
            return blueprint_of(value).build(["eio_output:0"], embedded=embedded)[0]
        if value.dtype == tf.resource:
            raise NotTraced("it uses a table or a variable that was made outside of it")
        array = value.numpy()
        small = array.nbytes <= LARGEST_CONSTANT
        return tf.constant(array) if small or embedded else _from_host(array)
    if not eager and value.graph is tf.compat.v1.get_default_graph():
        return value
    starts = [op.name for op in value.graph.get_collection("table_initializer")]
    return blueprint_of(value.graph).build([value.name], starts, embedded=embedded)[0]


def _from_host(array: np.ndarray) -> Any:
    """Returns a tensor of the graph whose values stay in the host's memory."""
    dtype = tf.string if array.dtype.kind in "OSU" else tf.as_dtype(array.dtype)
    tensor = tf.numpy_function(lambda: array, [], dtype, name="host_array")
    tensor.set_shape(array.shape)
    return tensor


def _keep(value: Any) -> None:
    """Keeps `value`, which holds the Python functions of a graph, as long as the current graph."""
    graph: Any = tf.compat.v1.get_default_graph()
    while getattr(graph, "outer_graph", None) is not None:
        graph = graph.outer_graph
    if not hasattr(graph, "_kept_by_estimator_io"):
        graph._kept_by_estimator_io = []
    graph._kept_by_estimator_io.append(value)
