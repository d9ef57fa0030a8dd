"""Several sources as one, each next row from a source that is drawn by weight."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from estimator_io.errors import SourceError
from estimator_io.ops.mix import mixed
from estimator_io.pipeline.memory import shuffle_rows
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.stages import rows_in_order
from estimator_io.pipeline.structure import spell
from estimator_io.plan.calls import Call, Named, Plan
from estimator_io.sources.base import Order, Source

__all__ = ["MixtureSource"]


class MixtureSource(Source):
    """The rows of several sources.

    Args:
      parts: each source with the stages up to the mixture that its rows go through.
      weights: how often a row comes from each, relative to the others.

    Attributes:
      row_spec: the spec of a row, as `tf.data.Dataset.element_spec` gives it.

    Raises:
      SourceError: the rows of the sources differ in structure or types.
    """

    def __init__(self, parts: Sequence[tuple[Source, Options]], weights: Sequence[float]) -> None:
        self._parts = list(parts)
        self._weights = list(weights)
        self.holds_rows = all(
            source.holds_rows and not _drops_rows(options) for source, options in parts
        )
        self.waits = any(source.waits for source, _ in parts)
        names = {source.class_names for source, _ in parts}
        self.class_names = names.pop() if len(names) == 1 else None
        self.row_spec = self._require_same_rows()

    @property
    def parts(self) -> list[tuple[Source, Options]]:
        """Each source, with the stages up to the mixture."""
        return self._parts

    def list_skipped_in(self, folder: str | None) -> None:
        """Tells each source where to list what it skips."""
        for source, _ in self._parts:
            source.list_skipped_in(folder)

    @property
    def num_rows(self) -> None:
        """None: sources come to their ends at different times, so there is no common epoch."""

    @property
    def indexed(self) -> bool:
        """Whether each source can be shuffled without a buffer."""
        return all(source.indexed for source, _ in self._parts)

    def identity(self) -> Any:
        """Returns what the rows of each source depend on, and the weights."""
        parts = [
            (source.identity(), source.decode, options.parse, options.filter, options.flat_map)
            for source, options in self._parts
        ]
        return (parts, self._weights)

    def describe(self) -> str:
        """Returns each source with its share."""
        total = sum(self._weights)
        shares = (
            f"{weight / total:.0%} {source.describe()}"
            for (source, _), weight in zip(self._parts, self._weights, strict=True)
        )
        return f"a mixture of {'; '.join(shares)}"

    def order_identity(self) -> Any:
        """Returns what the order of each source depends on, its buffer included."""
        parts = [
            (
                source.order_identity(),
                options.filter,
                options.flat_map,
                options.interleave,
                shuffle_rows(source, options, parts=len(self._parts)),
            )
            for source, options in self._parts
        ]
        return (parts, self._weights)

    def rows_held(self, buffer_size: int) -> int:
        """0: each source holds its own, within its share of its own limit."""
        del buffer_size
        return 0

    def describe_shuffle(self, buffer_size: int) -> str:
        """Returns that each source keeps to its own way."""
        del buffer_size
        return "each source in its own way, then by weight"

    def calls(self, order: Order) -> list[Call]:
        """Returns: a Dataset for each source, in `order`, and the draws among them."""
        datasets = [self.part_plan(at, order) for at in range(len(self._parts))]
        kwargs = {"datasets": datasets, "weights": self._weights, "seed": order.seed}
        return [Call("source", mixed, (), kwargs)]

    def part_plan(self, at: int, order: Order) -> Plan:
        """Returns the plan of the rows of source `at`, up to the mixture."""
        return Plan(tuple(self._rows(at, order)))

    def _rows(self, at: int, order: Order) -> list[Call]:
        source, options = self._parts[at]
        own = dataclasses.replace(
            order,
            seed=(order.seed + (at + 1) * 0x9E3779B97F4A7C15) % (1 << 62),
            buffer_size=shuffle_rows(source, options, parts=len(self._parts)),
            interleave=options.interleave if order.shuffle or order.interleave > 1 else 1,
            block=None,
            passes=None if order.passes is None else _counter(f"{order.passes.name}_{at}"),
        )
        return rows_in_order(source, options, own)

    def _spec_of_part(self, at: int) -> Any:
        """Returns the spec of the rows of source `at`; what a mixture mixes is not built again."""
        first, *others = self._rows(at, Order(shuffle=False, epochs=1, seed=0, buffer_size=1))
        source, _ = self._parts[at]
        if isinstance(source, MixtureSource):
            first = Call("source", _no_rows_of, (source.row_spec,))
        return Plan((first, *others)).build().element_spec

    def _require_same_rows(self) -> Any:
        with tf.Graph().as_default():
            specs = [self._spec_of_part(at) for at in range(len(self._parts))]
        for at, spec in enumerate(specs[1:], 1):
            if not _alike(specs[0], spec):
                raise SourceError(
                    f"Rows of source {at} differ from those of source 0. Received: {spell(spec)}."
                    f" Expected: {spell(specs[0])}. Bring them to the same keys and types with the"
                    " parse of their input functions."
                )
        return specs[0]


def _no_rows_of(spec: Any) -> Any:
    return tf.data.Dataset.from_generator(lambda: iter(()), output_signature=spec)


def _drops_rows(options: Options) -> bool:
    return options.changes_count


def _alike(one: Any, other: Any) -> bool:
    try:
        tf.nest.assert_same_structure(one, other)
    except (TypeError, ValueError):
        return False
    pairs = zip(tf.nest.flatten(one), tf.nest.flatten(other), strict=True)
    return all(a.dtype == b.dtype and a.shape.is_compatible_with(b.shape) for a, b in pairs)


def _counter(name: str) -> Named:
    return Named(name, tf.Variable(tf.constant(0, tf.int64), trainable=False))
