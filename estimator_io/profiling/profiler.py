"""`profile`: measures a pipeline as a whole and stage by stage, and says what to change."""

from __future__ import annotations

import dataclasses
import math
import numbers
import time
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.profiling.changes.ranking import ranked
from estimator_io.profiling.concurrency import with_concurrency
from estimator_io.profiling.context import Measured
from estimator_io.profiling.costs import costs_of, within
from estimator_io.profiling.crowding import worth_of_cores
from estimator_io.profiling.eagerly import eager_mode
from estimator_io.profiling.emptiness import check_batches
from estimator_io.profiling.failing import told
from estimator_io.profiling.flow import run_flow
from estimator_io.profiling.handing import handing_seconds
from estimator_io.profiling.machine import Machine
from estimator_io.profiling.model import Cores
from estimator_io.profiling.report import Applied, Report, Suggestion
from estimator_io.profiling.stages import notes_of, stages_of
from estimator_io.profiling.target import chain_of_target, name_of
from estimator_io.profiling.threads import joined
from estimator_io.profiling.timeline import timeline_of
from estimator_io.profiling.verdict import judge

__all__ = ["profile"]

LEAST_SECONDS = 1.0
MODES = ("train", "eval", "infer")
# Parts of the time that is left when each begins.
COSTS_SHARE, FLOW_SHARE = 0.37, 0.55
# Seconds for the timeline, which is begun even where no time is left, and the batches it wants.
TIMELINE_SECONDS, MOST_TIMELINE_SECONDS, TIMELINE_BATCHES = 1.0, 2.0, 4
MOST_TOGETHER_SECONDS = 0.6
TRIALS = 2
TRIAL_SHARE = 0.33


def profile(
    target: Any,
    *,
    step_seconds: float | None = None,
    seconds: float = 10.0,
    mode: str = "train",
    params: Mapping[str, Any] | None = None,
    apply: bool = False,
) -> Report:
    """Measures an input pipeline, says what limits training, and what to change.

    The pipeline is built anew and read as a whole, then each stage by itself on elements that lie
    in memory. Nothing is left behind: no cache is filled, no position moves, shuffle buffers are
    made small, and no file is written. The pass that is measured is one without a cache.

    Args:
      target: an `InputFn`, any other input function that the Estimator could call, or a
        tf.data.Dataset that was made eagerly.
      step_seconds: seconds of one training step without waiting for input; None where it is not
        known, and then the report tells below which one training would wait.
      seconds: for the whole, without the import of TensorFlow. A stage whose single elements take
        seconds takes longer.
      mode: "train", "eval" or "infer".
      params: as the Estimator would pass them.
      apply: whether to try the first suggestions, and to report what they measured; takes a third
        of `seconds` more for each, two at most.

    Returns:
      A `Report`: print it, read its fields, or `save` it as .html, .png, .json or .txt.

    Raises:
      OptionError: the target cannot be profiled, or an argument is impossible.
      NoDataError: a stage lets no element through, or one pass fills no batch.
      ProfileError: the input function failed, an element could not be made, or nothing came in
        time.

    Example:
      >>> import estimator_io, numpy as np
      >>> fn = estimator_io.input_fn({"x": np.arange(1000.0)}, batch_size=10)
      >>> report = estimator_io.profile(fn, step_seconds=1.0, seconds=2)
      >>> report.verdict.kind
      'step-bound'
    """
    _check(step_seconds, seconds, mode)
    with eager_mode(), joined():
        return _profile(target, step_seconds, seconds, mode, params, apply)


def _check(step_seconds: Any, seconds: Any, mode: Any) -> None:
    if step_seconds is not None and not (_is_number(step_seconds) and step_seconds > 0):
        raise OptionError(f"step_seconds. Received: {step_seconds!r}. Expected: seconds above 0.")
    if not (_is_number(seconds) and seconds >= LEAST_SECONDS):
        raise OptionError(f"seconds. Received: {seconds!r}. Expected: {LEAST_SECONDS:.0f} or more.")
    if mode not in MODES:
        raise OptionError(
            f"mode. Received: {mode!r}. Expected: one of {', '.join(map(repr, MODES))}."
        )


def _is_number(value: Any) -> bool:
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    return real and math.isfinite(value)


def _profile(
    target: Any,
    step_seconds: float | None,
    seconds: float,
    mode: str,
    params: Mapping[str, Any] | None,
    apply: bool,
) -> Report:
    began = time.perf_counter()

    def left() -> float:
        return max(0.2, began + seconds - time.perf_counter())

    chain = chain_of_target(target, mode, params)
    machine = Machine.here(_files(target))
    # The steps first: they find what gives nothing, for which the whole would wait for ever.
    costs, samples = costs_of(chain, left() * COSTS_SHARE)
    if not isinstance(target, StagedInputFn):  # which checks its rows by itself
        check_batches(chain, costs)
    flow = run_flow(chain, left() * FLOW_SHARE)
    costs = within(costs, None if flow.usage is None else flow.usage.cpu)
    together = min(MOST_TOGETHER_SECONDS, left() * 0.2)
    with told(chain.steps):
        costs = with_concurrency(chain, costs, samples, machine.cores, together)
    cores = Cores(machine.cores, worth_of_cores(machine.cores))
    handing = handing_seconds(samples[-1])
    measured = Measured(
        target, chain, costs, samples, flow, machine, cores, handing, step_seconds, mode
    )
    verdict = judge(measured)
    suggestions = ranked(measured, verdict)
    shown_step = min(step_seconds or measured.seconds_per_batch, MOST_TIMELINE_SECONDS / 2)
    wanted = TIMELINE_BATCHES * (shown_step + measured.seconds_per_batch)
    shown = min(MOST_TIMELINE_SECONDS, max(TIMELINE_SECONDS, wanted))
    timeline = timeline_of(chain, shown_step, shown)
    report = Report(
        target=name_of(target),
        mode=mode,
        tensorflow=tf.__version__,
        machine=machine,
        seconds=time.perf_counter() - began,
        step_seconds=step_seconds,
        batch_rows=costs[-1].rows,
        batch_bytes=costs[-1].bytes,
        batches_per_second=1 / measured.seconds_per_batch,
        measured=flow.seconds_per_batch is not None,
        cpu_seconds=None if flow.usage is None else flow.usage.cpu,
        first_batch_seconds=_first_batch(measured),
        memory=flow.memory,
        stages=stages_of(measured, verdict),
        nodes=flow.nodes,
        verdict=verdict,
        suggestions=suggestions,
        timeline=timeline,
        notes=notes_of(measured),
    )
    if not apply:
        return report
    chosen = [one for one in suggestions if one.trial is not None][:TRIALS]
    tried = tuple(_applied(one, measured, seconds, params) for one in chosen)
    return dataclasses.replace(report, applied=tried)


def _files(target: Any) -> list[str]:
    return list(target.source.local_files())[:16] if isinstance(target, StagedInputFn) else []


def _first_batch(measured: Measured) -> float:
    """Returns the seconds until the first batch, with shuffle buffers as large as they are."""
    small = measured.flow.first_batch or measured.seconds_per_batch
    return small + sum(seconds for _, seconds, _ in measured.buffers)


def _applied(
    suggestion: Suggestion,
    measured: Measured,
    seconds: float,
    params: Mapping[str, Any] | None,
) -> Applied:
    """Runs the pipeline with a change; of an InputFn the copy that has the option."""
    chain = suggestion.trial
    fn, options = measured.input_fn, suggestion.options
    if fn is not None and options is not None and "cache" not in options:
        chain = chain_of_target(fn.replace(**options), measured.mode, params)
    flow = run_flow(chain, seconds * TRIAL_SHARE)
    pace = flow.seconds_per_batch
    return Applied(
        suggestion,
        None if pace is None else 1 / pace,
        None if pace is None else measured.seconds_per_batch / pace,
        flow.waits[-48:],
    )
