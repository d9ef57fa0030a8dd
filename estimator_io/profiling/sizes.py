"""How much leaves a step in one pass: what a cache behind it would hold.

Known is only what TensorFlow counts, what was read to its end, and what files take on the disk. A
sample that was cut short says no more than that there is at least so much.
"""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from estimator_io.pipeline.memory_limit import spell_bytes
from estimator_io.profiling.chain import Step

if TYPE_CHECKING:
    from estimator_io.profiling.context import Measured

__all__ = ["Extent", "elements_of", "extent_of", "file_bytes_of"]

MOST_FILES = 10_000
# Of a TFRecord, around each record: its length and two checksums
# (https://www.tensorflow.org/tutorials/load_data/tfrecord).
FRAME_BYTES = {"TFRecordDataset": 16, "TFRecordDatasetV2": 16}
_LINES = frozenset({"TextLineDataset", "FixedLengthRecordDataset", "FixedLengthRecordDatasetV2"})
# What a function that opens a file and does no more is made of.
_RAW = (
    frozenset(FRAME_BYTES)
    | _LINES
    | {"Placeholder", "Const", "Identity", "NoOp", "Reshape", "ExpandDims"}
    | {"TensorSliceDataset", "FlatMapDataset"}
)


@dataclasses.dataclass(frozen=True)
class Extent:
    """What leaves a step in one pass.

    Attributes:
      bytes: of all elements; None where nothing is known.
      least: whether `bytes` is a lower bound.
      told: the same in words.
    """

    bytes: float | None
    least: bool
    told: str


def extent_of(measured: Measured, at: int) -> Extent:
    """Returns how much leaves step `at` in one pass, as far as it is known."""
    each = measured.costs[at].bytes
    number = elements_of(measured, at)
    if number is not None:
        size = number * each
        return Extent(size, False, f"{spell_bytes(each)} a row, {spell_bytes(size)} in all")
    seen = measured.costs[at].elements
    counted = _in_files(measured, at)
    on_disk = file_bytes_of(measured, at)
    if counted is not None and counted > seen:
        text = f"at least {spell_bytes(counted * each)} in all by the sizes of the files"
        return Extent(counted * each, True, f"{spell_bytes(each)} a row, {text}")
    files = f"; the files take {spell_bytes(on_disk)} on the disk" if on_disk else ""
    how = "estimator-io cache warm" if measured.input_fn is not None else "a full pass"
    return Extent(
        None,
        True,
        f"{spell_bytes(each)} a row, at least {spell_bytes(seen * each)} in all{files}; how many"
        f" rows a pass has is not known, {how} counts them",
    )


def elements_of(measured: Measured, at: int) -> float | None:
    """Returns how many elements leave step `at` in one pass; None where that is not known."""
    fn = measured.input_fn
    if fn is not None:
        return None if fn.num_rows is None else float(fn.num_rows)
    number: float | None = None
    for index, step in enumerate(measured.chain.steps[: at + 1]):
        cost = measured.costs[index]
        if step.elements >= 0 and not step.repeated:
            number = float(step.elements)
        elif index == 0:
            counted = int(step.apply(None).cardinality())
            number = float(counted) if counted >= 0 else None
        elif number is not None:
            known = (cost.whole and step.kind != "other") or not step.expands
            number = number / max(cost.inputs, 1e-12) if known else None
    return number


def file_bytes_of(measured: Measured, at: int) -> int | None:
    """Returns what the files that step `at` is made from take on the disk.

    None where the pipeline does not list local files, or too many of them.
    """
    fn = measured.input_fn
    if fn is not None:
        return _sum_of_sizes(list(fn.source.local_files()))
    source = getattr(measured.chain.steps[0].apply(None), "_filenames", None)
    if source is not None and hasattr(source, "numpy"):
        return _sum_of_sizes(_decoded(source.numpy().reshape([-1]).tolist()))
    reader = _reader(measured, at)
    return None if reader is None else _sum_of_sizes(_names(measured.chain.steps[:reader]))


def _in_files(measured: Measured, at: int) -> float | None:
    """Returns how many elements leave step `at` at least, by the sizes of the files it reads.

    Records are read as they are stored, so that those of uncompressed files are about as many as
    their sizes say, and those of compressed ones more. None where something else stands in between.
    """
    reader = _reader(measured, at)
    if reader is None or measured.input_fn is not None:
        return None
    step, cost = measured.chain.steps[reader], measured.costs[reader]
    on_disk = file_bytes_of(measured, at)
    readers = step.operations & (frozenset(FRAME_BYTES) | _LINES)
    if on_disk is None or not readers or step.operations - _RAW:
        return None
    around = max(FRAME_BYTES.get(name, 1) for name in readers)
    number = on_disk / (cost.bytes + around)
    for index in range(reader + 1, at + 1):
        if measured.chain.steps[index].expands and not measured.costs[index].whole:
            return None
        number /= max(measured.costs[index].inputs, 1e-12)
    return number


def _reader(measured: Measured, at: int) -> int | None:
    """Returns the step up to `at` that opens what the source lists."""
    steps = measured.chain.steps
    found = (
        index
        for index in range(1, at + 1)
        if steps[index].kind in ("flat_map", "interleave") and steps[index].opens
    )
    return next(found, None)


def _names(steps: tuple[Step, ...]) -> list[str] | None:
    """Returns the elements of a source of file names; None where it is none, or calls Python."""
    if any(step.python or step.kind not in ("source", "shuffle", "other") for step in steps):
        return None
    dataset: Any = steps[0].apply(None)
    if int(dataset.cardinality()) < 0:
        return None  # it may have no end
    for step in steps[1:]:
        dataset = step.apply(dataset)
    if dataset.element_spec != tf.TensorSpec([], tf.string):
        return None
    names: list[bytes] = []
    for block in dataset.take(MOST_FILES + 1).batch(1024):
        names += block.numpy().tolist()
    return _decoded(names)


def _decoded(names: list[bytes]) -> list[str]:
    return [os.fsdecode(name) for name in names]


def _sum_of_sizes(names: list[str] | None) -> int | None:
    if not names or len(names) > MOST_FILES or not all(os.path.isfile(name) for name in names):
        return None
    return sum(os.path.getsize(name) for name in names)
