"""From an input function to its improved pipeline, or to itself where it has to stay as it is."""

from __future__ import annotations

import random
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import (
    EstimatorIOError,
    OptionError,
    ServiceError,
    SourceError,
    StructureError,
)
from estimator_io.legacy.blueprint import Blueprint, blueprint_of
from estimator_io.legacy.changes import Change
from estimator_io.legacy.ending import AHEAD, Built, finished, served, with_prefetch
from estimator_io.legacy.exact import same_bits_anywhere
from estimator_io.legacy.function import LegacyFunction, one_line
from estimator_io.legacy.interception import NeedsGraph, trying_eagerly
from estimator_io.legacy.internals import dataset_ops, is_eager_tensor, iterator_ops
from estimator_io.legacy.rewrite import Setting, ends_in_prefetch, improve
from estimator_io.legacy.step import Step, specs_of, step_of
from estimator_io.legacy.trace import NotTraced, Trace, restore, trace

__all__ = ["Built", "build"]

# Rewriting a Dataset that lives outside of graphs copies the arrays that it holds.
_MOST_EAGER_BYTES = 64 << 20


def build(
    function: LegacyFunction, given: Mapping[str, Any], setting: Setting | None = None
) -> Built:
    """Builds the pipeline of `function` in the current graph, or eagerly.

    Args:
      function: the input function.
      given: what it is called with.
      setting: what the improvements depend on.

    Raises:
      SourceError: it raised.
      StructureError: it returned neither a Dataset nor tensors.
      ModeError: it needs what the caller did not give.
      OptionError: it cannot run in the service that was asked for.
      ServiceError: that service cannot be reached.
    """
    setting = setting or Setting()
    if tf.executing_eagerly():
        states = random.getstate(), np.random.get_state()
        try:
            with trying_eagerly():
                result = function.call(given)
            if isinstance(result, dataset_ops().DatasetV2):
                return _eager(result, setting)
        except (NeedsGraph, SourceError) as error:
            failed = error if isinstance(error, SourceError) else None
        else:
            failed = None
        restore(states)
        return _in_scratch(function, given, setting, failed)
    return _in_scratch(function, given, setting, None)


def _in_scratch(
    function: LegacyFunction, given: Mapping[str, Any], setting: Setting, failed: Exception | None
) -> Built:
    """Runs the function in a scratch graph; where that is of no use, once more and untouched."""
    states = random.getstate(), np.random.get_state()
    try:
        traced = trace(lambda: function.call(given))
        built = _improved(traced, function, setting)
        traced.seeds.keep()
        return built
    except (StructureError, ServiceError):
        raise
    except OptionError as error:
        if setting.served is not None:
            raise
        why = one_line(error)
    except NotTraced as reason:
        why = str(reason)
    except SourceError as error:
        why = (
            f"it cannot run apart from the Estimator's graph ({one_line(error.__cause__ or error)})"
        )
        failed = failed or error
    except Exception as error:  # whatever goes wrong here, the function itself may well work
        why = f"its graph cannot be moved ({type(error).__name__}: {one_line(error)})"
    if tf.executing_eagerly():
        if failed is not None:
            raise failed
        raise SourceError(
            f"{function.place}: the input_fn {function.name} cannot be read outside of a graph:"
            f" {why}. Expected: a Dataset, or tensors that are computed from elements of Datasets."
            " Under an Estimator it runs as it is."
        )
    if setting.served is not None:
        raise OptionError(
            f"{function.place}: the input_fn {function.name} cannot run in a tf.data service:"
            f" {why}. Leave service out."
        )
    restore(states)
    result = function.call(given)
    _require_input(result, function)
    return Built(result, [Change(function.name, "left as it is", why, changed=False)], True)


def _improved(traced: Trace, function: LegacyFunction, setting: Setting) -> Built:
    result = traced.result
    if isinstance(result, dataset_ops().DatasetV2):
        return _of_dataset(traced, result, setting)
    result = _require_input(result, function)
    return _of_tensors(traced, result, setting)


def _require_input(result: Any, function: LegacyFunction) -> Any:
    """Returns (features, labels), or the features alone where the labels are None.

    Raises:
      StructureError: `result` is neither a Dataset nor made of tensors.
    """
    if isinstance(result, dataset_ops().DatasetV2):
        return result
    if isinstance(result, (list, tuple)) and len(result) == 2:
        result = result[0] if result[1] is None else tuple(result)
    leaves = tf.nest.flatten(result)
    if result is None or not leaves or not all(map(_is_tensor, leaves)):
        raise StructureError(
            f"{function.place}: the input_fn {function.name} returned no input. Received:"
            f" {_spelled(result)}. Expected: a tf.data.Dataset, or features or (features,"
            " labels) in tensors."
        )
    return result


def _is_tensor(value: Any) -> bool:
    return tf.is_tensor(value)


def _spelled(result: Any) -> str:
    if result is None:
        return "None (is a return missing?)"
    if isinstance(result, iterator_ops().Iterator):
        return "an iterator (is get_next() missing?)"
    arrays = any(isinstance(leaf, np.ndarray) for leaf in tf.nest.flatten(result))
    text = " ".join(repr(result).split())
    text = f"{type(result).__name__} {text[:80]}" + ("…" if len(text) > 80 else "")
    return text + (" (arrays: tf.data.Dataset.from_tensor_slices reads them)" if arrays else "")


def _improve(blueprint: Blueprint, output: str, setting: Setting) -> list[Change]:
    kept = []
    if setting.cache is not None:
        as_written = setting.batch_size is None
        kept = [setting.cache.insert(blueprint, output, batches=as_written)]
    return kept + improve(blueprint.nodes, output, setting)


def _of_dataset(traced: Trace, dataset: Any, setting: Setting) -> Built:
    variant = dataset._variant_tensor
    changes: list[Change] = _of_constants(traced)
    starts = [op.name for op in traced.table_initializers()]
    if is_eager_tensor(variant) or variant.graph is not traced.graph:
        blueprint = blueprint_of(variant if is_eager_tensor(variant) else variant.graph)
        name = "eio_output:0" if is_eager_tensor(variant) else variant.name
        if not is_eager_tensor(variant):
            starts = [op.name for op in variant.graph.get_collection("table_initializer")]
        changes.append(
            Change(
                "the Dataset", "rebuilt", "it was made outside of the input_fn, in another graph"
            )
        )
    else:
        blueprint, name = blueprint_of(traced.graph), variant.name
    changes += _improve(blueprint, name, setting)
    blueprint.threads = setting.threads
    if setting.served is not None:
        return served(dataset, blueprint, name, changes, setting)
    made = blueprint.build([name], starts)[0]
    prefetches = ends_in_prefetch(blueprint.nodes, name)
    return finished(made, dataset, blueprint, changes, prefetches)


def _of_constants(traced: Trace) -> list[Change]:
    arrays = [given for given in traced.graph.given.values() if isinstance(given, np.ndarray)]
    if not arrays:
        return []
    size = sum(map(_bytes, arrays))
    count = f"{len(arrays)} array{'s' if len(arrays) > 1 else ''} ({size:,} bytes)"
    reason = "a graph that holds data is written to every checkpoint's .meta and to event files"
    return [Change(count, "out of the graph", reason)]


def _bytes(array: np.ndarray) -> int:
    return array.nbytes if array.dtype != object else sum(len(text) for text in array.flat)


def _of_tensors(traced: Trace, result: Any, setting: Setting) -> Built:
    step = step_of(traced, result)
    blueprint = blueprint_of(traced.graph)
    blueprint.threads = setting.threads
    changes = _of_constants(traced)
    for variant in step.variants:
        changes += _improve(blueprint, variant, setting)
    changes.append(_of_iterators(traced, step))
    variants, hoisted = _inputs_of_step(traced, step, blueprint, changes, setting)
    for iterator in traced.graph.iterators:
        if not iterator.was_asked and not tf.executing_eagerly():
            iterator._initializer = tf.no_op()  # for a hook that asks for it later
    direct = _elements_as_they_are(traced, step, result)
    if direct is not None and len(variants) == 1:
        dataset = dataset_ops()._VariantDataset(variants[0], direct)
        prefetches = setting.served is None
        prefetches = prefetches and ends_in_prefetch(blueprint.nodes, step.variants[0])
        return Built(with_prefetch(dataset, blueprint, changes, prefetches), changes)
    number = sum(op.type != "Const" for op in step.body)
    behind = f"{number} operation{'' if number == 1 else 's'} behind get_next()"
    if tf.executing_eagerly() or same_bits_anywhere(step.body):
        dataset = step.dataset(variants, hoisted, blueprint)
        calls = "one at a time" if step.parallel_calls(blueprint.nodes) is None else "in parallel"
        if step.body:
            changes.append(Change(behind, f"a map, {calls}", "they ran in the way of each step"))
        return Built(with_prefetch(dataset, blueprint, changes, False), changes)
    reason = "a session rewrites arithmetic, so a map could give other last bits"
    changes.append(Change(behind, "left behind it", reason, changed=False))
    changes.append(Change("the Dataset", "prefetch(AUTOTUNE)", AHEAD))
    return Built(step.tensors(variants, hoisted, blueprint), changes)


def _of_iterators(traced: Trace, step: Step) -> Change:
    queues = {iterator.queue for iterator in traced.graph.iterators} - {""}
    if queues:
        reason = "its batches are ready before the step asks, and no threads fill a queue by rows"
        return Change(" and ".join(sorted(queues)), "a Dataset of the same batches", reason)
    iterators = "an iterator" if len(step.elements) == 1 else f"{len(step.elements)} iterators"
    reason = "its elements are ready before the step asks"
    return Change(f"get_next() of {iterators}", "another iterator", reason)


def _inputs_of_step(
    traced: Trace, step: Step, blueprint: Blueprint, changes: list[Change], setting: Setting
) -> tuple[list[Any], list[Any]]:
    """Returns the variants of the Datasets of a step, and what is the same in each step."""
    starts = [op.name for op in traced.table_initializers()]
    if setting.served is None:
        made = blueprint.build([*step.variants, *step.hoisted], starts)
        return made[: len(step.variants)], made[len(step.variants) :]
    if len(step.variants) > 1:
        raise OptionError(
            f"{setting.served.place}: the input_fn reads {len(step.variants)} iterators side by"
            " side, and a tf.data service would not hand their elements out in step. Zip the"
            " Datasets, or leave service out."
        )
    (output,), (element,) = step.variants, step.elements
    served, change = setting.served.read(blueprint, output, specs_of(element.outputs))
    changes.append(change)
    # The variant alone does not keep the Dataset alive.
    blueprint.nodes.kept.append(served)
    return [served._variant_tensor], blueprint.build(step.hoisted, starts)


def _elements_as_they_are(traced: Trace, step: Any, result: Any) -> Any:
    """Returns the spec of the elements where they are the result, None where that is computed."""
    flat = tf.nest.flatten(result, expand_composites=True)
    for iterator in traced.graph.iterators:
        for element in iterator.elements or []:
            other = tf.nest.flatten(element, expand_composites=True)
            same = len(flat) == len(other) and all(a is b for a, b in zip(flat, other, strict=True))
            if same:
                return _spec_in_form(iterator.element_spec, result)
    return None


def _spec_in_form(spec: Any, result: Any) -> Any:
    try:
        tf.nest.assert_same_structure(spec, result, expand_composites=False)
    except (TypeError, ValueError):
        return None
    return tf.nest.pack_sequence_as(result, tf.nest.flatten(spec))


def _eager(dataset: Any, setting: Setting) -> Built:
    """Improves a Dataset that lives outside of graphs."""
    changes: list[Change] = []
    try:
        if _bytes_held(dataset) > _MOST_EAGER_BYTES:
            raise NotTraced("it holds arrays, which would be copied")
        variant = dataset._variant_tensor
        blueprint = blueprint_of(variant)
        blueprint.kept, blueprint.threads = dataset, setting.threads
        found = _improve(blueprint, "eio_output:0", setting)
        prefetches = ends_in_prefetch(
            blueprint.nodes, blueprint.nodes.by_name["eio_output"].input[0]
        )
        changes += found
        if setting.served is not None:
            return served(dataset, blueprint, "eio_output:0", changes, setting)
        made = variant
        if any(change.changed for change in found):
            made = blueprint.build(["eio_output:0"])[0]
        return finished(made, dataset, blueprint, changes, prefetches)
    except (EstimatorIOError, NotTraced, tf.errors.OpError, ValueError, TypeError, KeyError) as why:
        if setting.served is not None:
            if isinstance(why, EstimatorIOError):
                raise
            raise OptionError(
                f"{setting.served.place}: the Dataset of the input_fn cannot run in a tf.data"
                f" service: {one_line(why)}. Leave service out."
            ) from why
        changes = [Change("the stages", "left as they are", one_line(why), changed=False)]
        blueprint = Blueprint(None, {}, kept=dataset)  # type: ignore[arg-type]
        return Built(with_prefetch(dataset, blueprint, changes, False), changes)


def _bytes_held(dataset: Any) -> int:
    """Returns the bytes of the tensors that the Datasets behind `dataset` hold."""
    total, waiting = 0, [dataset]
    while waiting:
        one = waiting.pop()
        waiting += list(one._inputs())
        held = getattr(one, "_tensors", None) or []
        total += sum(int(np.prod(t.shape)) * t.dtype.size for t in held if is_eager_tensor(t))
    return total
