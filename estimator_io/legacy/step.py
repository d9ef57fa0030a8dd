"""Tensors that an input function computed from an iterator, as a Dataset that yields them.

What stands behind get_next() runs in the way of every step; in the Dataset it runs ahead of it.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.legacy.blueprint import Blueprint, require_movable
from estimator_io.legacy.internals import dataset_ops
from estimator_io.legacy.nodes import Nodes, functions_of, is_stateful, node_of
from estimator_io.legacy.trace import NotTraced, Trace

__all__ = ["Step", "specs_of", "step_of"]

_GET_NEXT = ("IteratorGetNext", "IteratorGetNextSync")


@dataclasses.dataclass
class Step:
    """What runs in each step.

    Attributes:
      result: the nest of tensors that the function returned.
      elements: the operations that take an element from an iterator each.
      variants: the names of the variants of the Datasets that they take from.
      body: the operations between the elements and the result, in order.
      hoisted: the names of the tensors that the body takes and that are the same in each step.
    """

    result: Any
    elements: list[Any]
    variants: list[str]
    body: list[Any]
    hoisted: list[str]

    @property
    def outputs(self) -> list[Any]:
        """The tensors of the result."""
        return tf.nest.flatten(self.result, expand_composites=True)

    def dataset(self, variants: list[Any], hoisted: list[Any], blueprint: Blueprint) -> Any:
        """Returns the Dataset of the results.

        Args:
          variants: the Datasets that the elements come from.
          hoisted: the tensors that are the same in each step.
          blueprint: of the graph that the body stands in.
        """
        sources = self._sources(variants)
        source: Any = sources[0]
        if len(sources) > 1:
            source = tf.data.Dataset.zip(tuple(sources))
        part, inputs = self._body(blueprint)
        known = dict(zip(self.hoisted, hoisted, strict=True))
        taken = [tensor.name for op in self.elements for tensor in op.outputs]

        @tf.autograph.experimental.do_not_convert
        def step(*element: Any) -> Any:
            values = {**known, **dict(zip(taken, tf.nest.flatten(element), strict=True))}
            graph: Any = tf.compat.v1.get_default_graph()
            fed = {key: graph.capture(values[name]) for name, key in inputs.items()}
            return self._result(values, part, fed, name="")

        return source.map(step, num_parallel_calls=self.parallel_calls(blueprint.nodes))

    def tensors(self, variants: list[Any], hoisted: list[Any], blueprint: Blueprint) -> Any:
        """Returns the results as tensors of the current graph, behind iterators of its own.

        Args:
          variants: the Datasets that the elements come from.
          hoisted: the tensors that are the same in each step.
          blueprint: of the graph that the body stands in.
        """
        v1 = tf.compat.v1
        # Arrays of the host would be copied in each step; in an element they stay where they are.
        arrays = {
            name: tensor
            for name, tensor in zip(self.hoisted, hoisted, strict=True)
            if isinstance(blueprint.given.get(name), np.ndarray)
        }
        sources = self._sources(variants)
        if arrays:
            sources.append(tf.data.Dataset.from_tensors(tuple(arrays.values())).repeat())
        dataset = tf.data.Dataset.zip(tuple(sources)).prefetch(tf.data.AUTOTUNE)
        iterator: Any = v1.data.make_initializable_iterator(dataset)
        v1.add_to_collection("table_initializer", iterator.initializer)
        taken = [tensor.name for op in self.elements for tensor in op.outputs]
        values = dict(zip(self.hoisted, hoisted, strict=True))
        element = tf.nest.flatten(iterator.get_next())
        values |= dict(zip([*taken, *arrays], element, strict=True))
        part, inputs = self._body(blueprint)
        fed = {key: values[name] for name, key in inputs.items()}
        return self._result(values, part, fed, name="accelerated")

    def _sources(self, variants: list[Any]) -> list[Any]:
        return [
            dataset_ops()._VariantDataset(variant, specs_of(op.outputs))
            for variant, op in zip(variants, self.elements, strict=True)
        ]

    def _result(self, values: dict[str, Any], part: Any, fed: dict[str, Any], name: str) -> Any:
        """Returns the nest of the results, which the body computes from what it is fed."""
        inside = set(self.body)
        computed = [tensor.name for tensor in self.outputs if tensor.op in inside]
        made = tf.graph_util.import_graph_def(part, fed, computed, name=name)
        values |= dict(zip(computed, made, strict=True))
        tensors = [tf.identity(values[tensor.name]) for tensor in self.outputs]
        for tensor, old in zip(tensors, self.outputs, strict=True):
            tensor.set_shape(old.shape)
        return tf.nest.pack_sequence_as(self.result, tensors, expand_composites=True)

    def parallel_calls(self, nodes: Nodes) -> int | None:
        """Returns how many steps may be computed at once; None for one after the other."""
        for op in self.body:
            node = nodes.by_name[op.name]
            inner = [name for name in functions_of(node) if name in nodes.functions]
            if any(nodes.state_in(name) for name in inner) or (not inner and is_stateful(node)):
                return None
        return tf.data.AUTOTUNE

    def _body(self, blueprint: Blueprint) -> tuple[Any, dict[str, str]]:
        """Returns the body as a graph, and the placeholders in it by the tensor they stand for."""
        inside = {op.name for op in self.body}
        part, inputs = tf.compat.v1.GraphDef(), {}
        part.versions.CopyFrom(blueprint.nodes.graph_def.versions)
        for op in self.body:
            node = part.node.add()
            node.CopyFrom(blueprint.nodes.by_name[op.name])
            node.attr.pop("_class", None)  # it may name an operation that stays outside
            kept = [given for given in node.input if given[0] != "^" or node_of(given) in inside]
            del node.input[:]
            for given in kept:
                name = given if ":" in given or given[0] == "^" else f"{given}:0"
                if node_of(given) not in inside:
                    name = inputs.setdefault(name, f"eio_input_{len(inputs)}:0")
                node.input.append(name)
        blueprint.add_functions(part)
        return part, inputs


def step_of(trace: Trace, result: Any) -> Step:
    """Returns how the tensors that a function returned are computed in each step.

    Raises:
      NotTraced: not from elements of Datasets alone.
    """
    outputs = tf.nest.flatten(result, expand_composites=True)
    reached = _reached(outputs, trace)
    for op in reached:
        require_movable(op.type, op.name)
    if any(op.type == "Enter" for op in reached):
        raise NotTraced(
            "it loops behind get_next() as TensorFlow 1 does (map_fn or while_loop without"
            " control flow v2), and such a loop cannot be taken apart"
        )
    elements = [op for op in reached if op.type in _GET_NEXT]
    if not elements:
        raise NotTraced("its tensors come from no Dataset, and are the same in each step")
    variants = [_variant_of(op, trace) for op in elements]
    if len({node_of(op.inputs[0].name) for op in elements}) < len(elements):
        raise NotTraced("it takes several elements of one iterator in each step")
    each_step = _run_in_each_step(trace.graph, elements)
    computed = [op for op in reached if op in each_step and op not in elements]
    # Shapes and axes have to be known where the body is built, so constants go with it.
    constants = {t.op for op in computed for t in op.inputs if t.op.type == "Const"}
    inside = {*computed, *constants}
    body = [op for op in reached if op in inside]
    inside = {*body, *elements}
    hoisted = {
        tensor.name: None
        for tensor in [*outputs, *(given for op in body for given in op.inputs)]
        if tensor.op not in inside
    }
    return Step(result, elements, [tensor.name for tensor in variants], body, list(hoisted))


def _reached(outputs: list[Any], trace: Trace) -> list[Any]:
    """Returns the operations that the outputs depend on in each step, in the order of the graph."""
    found, waiting = set(), [tensor.op for tensor in outputs]
    while waiting:
        op = waiting.pop()
        if op in found:
            continue
        found.add(op)
        if op.type not in _GET_NEXT:
            waiting += [tensor.op for tensor in op.inputs] + list(op.control_inputs)
    return [op for op in trace.graph.get_operations() if op in found]


def _run_in_each_step(graph: tf.Graph, elements: list[Any]) -> set[Any]:
    """Returns the operations whose results differ from step to step."""
    found = set(elements)
    for op in graph.get_operations():
        makes = any(tensor.dtype in (tf.resource, tf.variant) for tensor in op.outputs)
        if op.type == "Placeholder":
            continue
        state = op.op_def.is_stateful and not makes and op.type not in ("MakeIterator",)
        before = [tensor.op for tensor in op.inputs] + list(op.control_inputs)
        if state or any(other in found for other in before):
            found.add(op)
    return found


def _variant_of(op: Any, trace: Trace) -> Any:
    """Returns the variant of the Dataset that an iterator's elements come from."""
    resource = op.inputs[0]
    starts = [use for use in resource.consumers() if use.type == "MakeIterator"]
    if len(starts) != 1:
        raise NotTraced(f"its iterator reads {len(starts)} Datasets in turn, as the program says")
    iterator = next(
        (one for one in trace.graph.iterators if one._iterator_resource is resource), None
    )
    started = starts[0] in trace.graph.get_collection("table_initializer")
    if not started and (iterator is None or (iterator.was_asked and not iterator.starts_itself)):
        raise NotTraced("its iterator is initialised by the program itself, at a time of its own")
    return starts[0].inputs[0]


def specs_of(tensors: list[Any]) -> tuple[tf.TensorSpec, ...]:
    """Returns the specs of tensors of a graph."""
    return tuple(tf.TensorSpec(tensor.shape, tensor.dtype) for tensor in tensors)
