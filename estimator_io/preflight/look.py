"""`look_at`: one input_fn, drawn from and judged."""

from __future__ import annotations

import dataclasses
import tempfile
import time
from collections.abc import Collection, Iterator
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError, NoDataError, OptionError
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.pipeline.interface import InputFn
from estimator_io.preflight import cases
from estimator_io.preflight.dataset_graph import DatasetGraph
from estimator_io.preflight.drawing import Drawn, draw
from estimator_io.preflight.limits import Limits
from estimator_io.preflight.report import Finding, InputReport
from estimator_io.preflight.values import Values
from estimator_io.preflight.watch import within
from estimator_io.runner.input_calls import InputCall, require_arguments
from estimator_io.runner.places import error_place, last_line

__all__ = ["Look", "look_at"]

# How the looks of InputFn.check() are called here; its other kinds have the same name.
_KINDS = {"empty": "empty input", "endless": "endless evaluation"}
_CORRUPT = (tf.errors.DataLossError, tf.errors.InvalidArgumentError)
_MODES = {"train": "training", "eval": "evaluation", "infer": "prediction"}


@dataclasses.dataclass(frozen=True)
class Look:
    """A look at one input_fn.

    Attributes:
      report: what it found.
      caches: the files of its caches.
      hangs: whether a thread of it was left behind.
    """

    report: InputReport
    caches: list[str]
    hangs: bool


def look_at(call: InputCall, limits: Limits, ignored: Collection[str] = ()) -> Look:
    """Draws a few batches of an input_fn, and tells what it gives and what is wrong.

    Nothing is trained; an InputFn fills no cache and moves no position here, and an input_fn that
    asks for the RunConfig gets one with a model_dir of its own.

    Args:
      call: the input_fn, and what it is given.
      limits: how many batches to draw, and how long.
      ignored: cases that are not looked for.

    Returns:
      The look. An input_fn that fails is part of its report.
    """
    report = InputReport(call.name, _title(call), call.mode)
    try:
        require_arguments(call.input_fn, _name(call.input_fn))
    except OptionError as error:
        return Look(dataclasses.replace(report, failure=str(error)), [], False)
    with tempfile.TemporaryDirectory() as model_dir:
        return _look(_apart(call, model_dir), call, limits, report, {*ignored})


def _look(
    apart: InputCall, call: InputCall, limits: Limits, report: InputReport, ignored: set[str]
) -> Look:
    began = time.monotonic()
    values = Values()
    drawn = draw(apart, limits)
    for batch in drawn.batches:
        values.see(batch)
    graph = DatasetGraph(drawn.graph) if drawn.graph is not None else None
    left = Limits(1, max(1.0, limits.seconds - (time.monotonic() - began)))
    found = [*_findings(call, apart, drawn, values, graph, left)]
    found = [finding for finding in found if finding.case not in ignored]
    failure = _failure(call, drawn, found, values, limits)
    rate = (len(drawn.batches) - 1) / drawn.later_seconds if drawn.later_seconds > 0 else None
    report = dataclasses.replace(
        report,
        kind=_kind(call, drawn),
        columns=tuple(values.columns.values()),
        batches=len(drawn.batches),
        rows=values.rows,
        rows_again=values.again,
        rows_again_in_batch=values.again_in_batch,
        length=_length(call, drawn, graph),
        first_seconds=drawn.first_seconds,
        batches_per_second=rate,
        findings=tuple({finding.text: finding for finding in found}.values()),
        failure=failure,
    )
    return Look(report, graph.caches() if graph else [], drawn.stands_at is not None)


def _apart(call: InputCall, model_dir: str) -> InputCall:
    """Returns a call that reaches no cache, no service and no model_dir of the program."""
    if isinstance(call.input_fn, StagedInputFn):
        plain = call.input_fn.replace(cache=None, service=None, position="restart", check=False)
        return dataclasses.replace(call, input_fn=plain, config=None)
    if isinstance(call.input_fn, InputFn):
        call = dataclasses.replace(call, input_fn=call.input_fn.replace(cache=None, service=None))
    if call.config is None or not hasattr(call.config, "replace"):
        return call
    return dataclasses.replace(call, config=call.config.replace(model_dir=model_dir))


def _findings(
    call: InputCall,
    apart: InputCall,
    drawn: Drawn,
    values: Values,
    graph: DatasetGraph | None,
    left: Limits,
) -> Iterator[Finding]:
    own = isinstance(call.input_fn, StagedInputFn)
    if own and drawn.stands_at is None:
        yield from _own_findings(call)
    error: Any = drawn.error
    if isinstance(error, NoDataError) and not own:
        yield Finding("empty input", True, last_line(error))
    elif drawn.ended and not drawn.batches and not own:
        yield Finding(
            "empty input",
            True,
            f"not a single batch came, so {_MODES.get(call.mode, call.mode)} ends at once, with a"
            " loss of nothing. Does the file pattern match, or does a filter drop every row?",
        )
    elif isinstance(error, _CORRUPT) and drawn.graph is not None:
        yield Finding("corrupt record", True, _corrupt(call, drawn, error, left.seconds))
    elif isinstance(error, tf.errors.AlreadyExistsError):
        yield Finding("cache lock", True, f"{last_line(error)}. Remove the lock file.")
    if graph is not None:
        yield from cases.cases_of_graph(call, drawn, graph)
    known = {"labels", "values"} if own else set()
    for finding in cases.cases_of_batches(call, drawn, values):
        if finding.case not in known:
            yield finding
    if call.mode == "train" and not own and drawn.stands_at is None and values.first is not None:
        again = draw(apart, left).batches
        found = cases.restart(values.first, again[0]) if again else None
        if found is not None:
            yield found


def _own_findings(call: InputCall) -> Iterator[Finding]:
    """Yields what the InputFn finds by itself."""
    try:
        problems = call.input_fn.check(call.mode, call.params).problems  # type: ignore[attr-defined]
    except EstimatorIOError:
        return  # drawing has met it too
    for problem in problems:
        if problem.kind != "error" and not (problem.kind == "endless" and call.steps is not None):
            yield Finding(_KINDS.get(problem.kind, problem.kind), problem.certain, problem.text)


def _corrupt(call: InputCall, drawn: Drawn, error: Exception, seconds: float) -> str:
    own = isinstance(call.input_fn, StagedInputFn)
    fault = within(seconds, lambda: _fault(call.input_fn)) if own else None
    behind = f"behind {len(drawn.batches)} batches" if drawn.batches else "in the first batch"
    return (
        f"reading stops {behind}: {fault or last_line(error)}. estimator_io names the row"
        " (InputFn.find_fault), and on_error='skip' leaves such rows out and lists them."
    )


def _fault(input_fn: Any) -> str | None:
    try:
        return input_fn.find_fault()
    except EstimatorIOError:
        return None  # rows of this source cannot be told apart


def _failure(
    call: InputCall, drawn: Drawn, found: list[Finding], values: Values, limits: Limits
) -> str:
    """Returns why there was nothing to look at; "" where a finding tells, or there was."""
    if drawn.stands_at is not None and values.first is None:
        where = f"at {drawn.stands_at}" if drawn.stands_at else "inside TensorFlow"
        what = "returned" if drawn.is_dataset is None else "given a batch"
        return (
            f"the input_fn has not {what} after {limits.seconds:g} s; it stands {where}. Mend"
            " what it waits for there, or give more time with --seconds."
        )
    if drawn.error is None or any(finding.certain for finding in found):
        return ""
    # What this package raises says where; without a line of the program's it would name its own.
    place = "" if isinstance(drawn.error, EstimatorIOError) else error_place(drawn.error)
    told = f"{last_line(drawn.error)}{f' ({place})' if place else ''}"
    if type(drawn.error).__name__ == "UnparsedFlagAccessError":
        told += ". Flags have values in the whole program alone: --script SCRIPT -- ARGS"
    elif (
        drawn.is_dataset is None
        and call.config is None
        and not call.params
        and "params" in call.arguments()
    ):
        told += ". It asks for params, and was given none: --params '{\"batch_size\": 32}'"
    return told


def _kind(call: InputCall, drawn: Drawn) -> str:
    if drawn.is_dataset is None:
        return ""
    if isinstance(call.input_fn, StagedInputFn):
        return "InputFn"
    return "Dataset" if drawn.is_dataset else "tensors"


def _length(call: InputCall, drawn: Drawn, graph: DatasetGraph | None) -> str:
    came = len(drawn.batches)
    if drawn.ended:
        return _spell(came)
    at_least = f"at least {_spell(came)}" if came else ""
    if isinstance(call.input_fn, StagedInputFn):
        request = call.input_fn.request(call.mode, call.params)
        if call.input_fn.options.epochs is None and request.ordered:
            return "endless"
        number = call.input_fn.num_batches(call.mode)
    elif cases.is_endless(drawn, graph):
        return "endless"
    else:
        number = drawn.cardinality
    return at_least if number is None else _spell(number)


def _spell(batches: int) -> str:
    return f"{batches:,} batch{'' if batches == 1 else 'es'}"


def _title(call: InputCall) -> str:
    if isinstance(call.input_fn, InputFn) and not isinstance(call.input_fn, StagedInputFn):
        return repr(call.input_fn).strip("<>")
    place = call.place or (f"handed over at {call.handed_at}" if call.handed_at else "")
    name = _name(call.input_fn)
    return f"{name} ({place})" if place else name


def _name(input_fn: Any) -> str:
    while hasattr(input_fn, "func"):
        input_fn = input_fn.func
    if isinstance(input_fn, InputFn):
        return "InputFn"
    return getattr(input_fn, "__qualname__", type(input_fn).__name__)
