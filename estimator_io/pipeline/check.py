"""A look at one batch of a pipeline for what goes wrong in training without an error.

It builds a pipeline of its own, which begins with the first row, keeps nothing in a cache and moves
no position, and reads one batch of it at most.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import EstimatorIOError
from estimator_io.pipeline import probe, stages
from estimator_io.pipeline.build import build_checked
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.reading import first_elements, leaves_of, row_counts
from estimator_io.pipeline.request import Request
from estimator_io.pipeline.structure import spell_shape
from estimator_io.plan.calls import Call, Plan
from estimator_io.sources.base import Order, Source
from estimator_io.sources.function import FunctionSource

__all__ = [
    "Problem",
    "Report",
    "look",
    "look_for_endless",
    "look_for_errors",
    "of_labels",
    "of_rows",
    "of_values",
]


@dataclasses.dataclass(frozen=True)
class Problem:
    """One thing that the look found.

    Attributes:
      kind: "empty", "endless", "spent", "structure", "labels", "values", or "error" for an
        exception of the pipeline itself.
      certain: whether training or evaluation cannot be right; else it deserves a second look.
      mode: the mode in which it shows.
      text: what was found, and what to do.
    """

    kind: str
    certain: bool
    mode: str
    text: str


@dataclasses.dataclass(frozen=True)
class Report:
    """What `InputFn.check` found.

    Attributes:
      problems: what was found, in the order in which it was looked for.
      modes: the modes that were looked at.
      seconds: that the look took.
    """

    problems: tuple[Problem, ...]
    modes: tuple[str, ...]
    seconds: float

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def __repr__(self) -> str:
        """One line, and one more for each problem."""
        head = f"checked {' and '.join(self.modes)} in {self.seconds:.2f} s: "
        if self.ok:
            return head + "no problem found"
        lines = [
            f"  {'error' if p.certain else 'doubt'} ({p.kind}, {p.mode}): {p.text}"
            for p in self.problems
        ]
        number = len(lines)
        return "\n".join([f"{head}{number} problem{'s' if number > 1 else ''}", *lines])


def look(source: Source, options: Options, requests: list[Request]) -> Report:
    """Returns what one batch of each request shows."""
    began = time.monotonic()
    problems: list[Problem] = []
    for request in requests:
        problems += _of_mode(source, options, request)
    if len(requests) > 1:
        problems += _between_modes(source, options, requests)
    seen: dict[tuple[str, str], Problem] = {}
    for problem in problems:
        seen.setdefault((problem.kind, problem.text), problem)
    modes = tuple(request.mode for request in requests)
    return Report(tuple(seen.values()), modes, time.monotonic() - began)


def look_for_errors(source: Source, options: Options, request: Request, rows: int) -> list[Problem]:
    """Returns what the first `rows` rows show, for the look that training makes by itself.

    What the pipeline itself raises is left to the pipeline.
    """
    sized = request.batch_size if request.batch_size is None else min(rows, request.batch_size)
    try:
        return [
            *_spent(source, request.mode),
            *_of_batch(_batch_plan(source, options, request, sized), request.mode),
        ]
    except EstimatorIOError:
        raise
    except Exception:  # the pipeline itself will meet and report it, with its own batch size
        return []


def look_for_endless(source: Source, options: Options, request: Request) -> Problem | None:
    """Returns the problem of an evaluation or a prediction that never ends, if it is one."""
    if request.mode == "train":
        return None
    endless = request.mode_blind and options.epochs is None
    if isinstance(source, FunctionSource) and not endless:
        endless = source.is_endless()
    if not endless:
        return None
    return Problem(
        "endless",
        not request.mode_blind,
        request.mode,
        f"{source.describe()} never ends, so {request.mode} without a number of steps would run"
        " forever. Let it end: leave repeat() out of the function, or take(rows) what is wanted"
        + (", or give num_epochs=1" if request.mode_blind else "")
        + ". Where a number of steps is given, check=False lets it pass.",
    )


def _of_mode(source: Source, options: Options, request: Request) -> Iterator[Problem]:
    endless = look_for_endless(source, options, request)
    if endless is not None:
        yield endless
    try:
        probe.require_rows(source, options, request, set())
        yield from _spent(source, request.mode)
        yield from _of_batch(
            _batch_plan(source, options, request, request.batch_size), request.mode
        )
    except Exception as error:
        kind = {"NoDataError": "empty", "StructureError": "structure"}.get(type(error).__name__)
        text = str(error) if isinstance(error, EstimatorIOError) else f"{_spell_error(error)}"
        yield Problem(kind or "error", True, request.mode, text)


def _spell_error(error: Exception) -> str:
    message = getattr(error, "message", None) or str(error)
    return f"{type(error).__name__}: {message}"


def _batch_plan(source: Source, options: Options, request: Request, batch_size: int | None) -> Plan:
    """Returns the plan of a pipeline that reads no further than its first batch."""
    plain = dataclasses.replace(
        options,
        cache=None,
        service=None,
        shuffle=False,
        epochs=1,
        drop_remainder=False,
        prefetch=0,
        num_parallel_calls=1,
        **_one_bucket(options),
    )
    request = dataclasses.replace(
        request, batch_size=batch_size or 1, passes=None, start=None, shard=(0, 1)
    )
    return stages.plan_pipeline(source, plain, request)


def _one_bucket(options: Options) -> dict[str, Any]:
    """Batches by length would be read on until one is full."""
    if options.bucket_boundaries is None:
        return {}
    names = ("bucket_boundaries", "bucket_batch_sizes", "element_length")
    return {"padding": True, **dict.fromkeys(names)}


def _of_batch(plan: Plan, mode: str) -> Iterator[Problem]:
    with tf.Graph().as_default():
        spec = build_checked(plan).element_spec
    yield from of_labels(spec, mode)
    batches = first_elements(plan, 1)
    if batches:
        yield from of_values(batches[0], mode)
        yield from of_rows(batches[0], mode)


def of_labels(spec: Any, mode: str) -> Iterator[Problem]:
    """Looks at the rank of labels and weights, in a spec or in tensors themselves."""
    if not isinstance(spec, tuple) or hasattr(spec, "_fields"):
        return
    for name, part in zip(("labels", "weights"), spec[1:], strict=False):
        for leaf in tf.nest.flatten(part):
            rank = leaf.shape.rank
            if rank is None:
                text = (
                    f"{name} have no known rank, so losses and metrics cannot fit them. Say it"
                    " where they are made, with tf.ensure_shape."
                )
            elif rank == 0:
                text = (
                    f"{name} are a single value for the whole batch. Expected: one for each row, of"
                    " rank 1 at least."
                )
            elif name == "labels" and rank > 1 and leaf.shape[-1] == 1:
                text = (
                    f"{name} have shape {spell_shape(leaf.shape)}. Against predictions of rank"
                    f" {rank - 1} a loss would compare each row with each other one. Where the"
                    f" model predicts rank {rank}, this is right; else drop the last dimension with"
                    " tf.squeeze(labels, -1)."
                )
            else:
                continue
            yield Problem("labels", False, mode, text)


def of_values(batch: Any, mode: str) -> Iterator[Problem]:
    """Looks for values that make every loss NaN."""
    for path, array in leaves_of(batch):
        if array.dtype.kind not in "fc" and array.dtype.name != "bfloat16":
            continue
        values = array.astype(np.float32) if array.dtype.name == "bfloat16" else array
        bad = ~np.isfinite(values)
        if bad.any():
            what = "NaN" if np.isnan(values).any() else "an infinite value"
            first = [int(index) for index in np.argwhere(bad)[0]] if values.ndim else []
            yield Problem(
                "values",
                False,
                mode,
                f"{path} holds {what}: {int(bad.sum()):,} of {bad.size:,} values of the first"
                f" batch, the first at {first}. One is enough to make the loss, and then every"
                " weight, NaN. Fill or filter such rows, in parse or in filter.",
            )


def of_rows(batch: Any, mode: str) -> Iterator[Problem]:
    """Looks whether features, labels and weights speak of the same number of rows."""
    if not isinstance(batch, tuple) or hasattr(batch, "_fields"):
        return
    counts = {path: rows for path, rows in row_counts(batch) if rows is not None}
    features = {rows for path, rows in counts.items() if path.startswith("features")}
    parts = {path: n for path, n in counts.items() if path.startswith(("labels", "weights"))}
    for path, size in parts.items():
        if features and size not in features:
            yield Problem(
                "labels",
                False,
                mode,
                f"{path} has {size} rows, and the features have {sorted(features)}. Expected: the"
                " same number, unless the model takes several rows together.",
            )


def _spent(source: Source, mode: str) -> Iterator[Problem]:
    """Begins two passes over rows that the user's own code makes, which may give one alone."""
    if not isinstance(source, FunctionSource):
        return
    calls = source.calls(Order(shuffle=False, epochs=1, seed=0, buffer_size=1))
    plan = Plan((*calls, Call("read", "take", (1,)), Call("read", "repeat", (2,))))
    rows = first_elements(plan, 2)
    if len(rows) < 2:  # there was one, or the look for an empty source had refused it
        yield Problem(
            "spent",
            True,
            mode,
            f"{source.describe()} has no row in its second pass, so later epochs and evaluations"
            " would be empty. Make what it reads from anew inside the function, at each call.",
        )
    elif not _same(*rows):
        yield Problem(
            "spent",
            False,
            mode,
            f"{source.describe()} begins its second pass with another row. If it goes on where the"
            " first one stopped, later passes will be empty; if it shuffles, training cannot go on"
            " at its row after an interruption: leave the shuffle to shuffle=….",
        )


def _same(one: Any, other: Any) -> bool:
    pairs = zip(leaves_of(one), leaves_of(other), strict=True)
    return all(
        np.array_equal(a, b, equal_nan=a.dtype.kind in "fc" and b.dtype.kind in "fc")
        for (_, a), (_, b) in pairs
    )


def _between_modes(source: Source, options: Options, requests: list[Request]) -> Iterator[Problem]:
    """Looks whether augmentation changes a rank or a known dimension."""
    try:
        specs = []
        for request in requests:
            with tf.Graph().as_default():
                plan = _batch_plan(source, options, request, request.batch_size)
                specs.append(build_checked(plan).element_spec)
        pairs = list(zip(*(tf.nest.flatten(spec) for spec in specs), strict=True))
    except Exception:  # told by the look at the mode itself
        return
    for one, other in pairs:
        if not one.shape.is_compatible_with(other.shape):
            yield Problem(
                "structure",
                False,
                requests[0].mode,
                f"a tensor has shape {spell_shape(one.shape)} in {requests[0].mode} and"
                f" {spell_shape(other.shape)} in {requests[1].mode}: augment changes it. A model"
                " with fixed input shapes takes one of them only; bring both to one shape in"
                " batch_map.",
            )
