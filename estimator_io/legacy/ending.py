"""The end of an improved pipeline: where it runs, its options, and a prefetch."""

from __future__ import annotations

import dataclasses
from typing import Any

import tensorflow as tf

from estimator_io.legacy.blueprint import Blueprint
from estimator_io.legacy.changes import Change
from estimator_io.legacy.internals import dataset_ops
from estimator_io.legacy.rewrite import Setting

__all__ = ["AHEAD", "Built", "finished", "served", "with_prefetch"]

AHEAD = "so that the next elements are made while a step runs"


@dataclasses.dataclass
class Built:
    """A pipeline, and what was done to it.

    Attributes:
      result: a Dataset; tensors where the function had to be left as it is.
      changes: what was changed, and what was left.
      untouched: whether the function was left as it is.
    """

    result: Any
    changes: list[Change]
    untouched: bool = False


def served(
    dataset: Any, blueprint: Blueprint, output: str, changes: list[Change], setting: Setting
) -> Built:
    """Returns the pipeline as a service makes it."""
    made, change = setting.served.read(
        blueprint, output, dataset.element_spec, _options_of(dataset)
    )
    changes.append(change)
    return Built(with_prefetch(made, blueprint, changes, False), changes)


def _options_of(dataset: Any) -> tf.data.Options:
    # In a graph, options() warns that it may not know all; the graph itself does.
    eager = tf.executing_eagerly()
    return dataset.options() if eager else getattr(dataset, "_options_attr", tf.data.Options())


def finished(
    variant: Any, dataset: Any, blueprint: Blueprint, changes: list[Change], prefetches: bool
) -> Built:
    """Returns the pipeline `variant`, as it runs in this process."""
    made = dataset_ops()._VariantDataset(variant, dataset.element_spec)
    options = _options_of(dataset)
    if options != tf.data.Options():
        made = made.with_options(options)
    return Built(with_prefetch(made, blueprint, changes, prefetches), changes)


def with_prefetch(
    dataset: Any, blueprint: Blueprint, changes: list[Change], prefetches: bool
) -> Any:
    """Returns `dataset` with what it has to hold, and a prefetch where it ends in none."""
    if blueprint.nodes is not None and blueprint.nodes.kept:
        options = tf.data.Options()
        options.threading.private_threadpool_size = blueprint.threads
        dataset = dataset.with_options(options)
    if not prefetches:
        dataset = dataset.prefetch(tf.data.AUTOTUNE)
        changes.append(Change("the end", "prefetch(AUTOTUNE)", AHEAD))
    if issubclass(tf.data.Dataset, dataset_ops().DatasetV1):
        dataset = dataset_ops().DatasetV1Adapter(dataset)
    # These hold the Python functions of the graph.
    dataset._kept_by_estimator_io = (blueprint.kept, blueprint.nodes and blueprint.nodes.kept)
    return dataset
