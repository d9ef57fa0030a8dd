"""Runs one case: calibrates the preparation, then every variant once a pair."""

from __future__ import annotations

import functools
import os
import time
from collections.abc import Callable
from typing import Any

from benchmarks import training
from benchmarks.overlap import variants
from benchmarks.overlap.cases import Case, Settings, recordings
from benchmarks.overlap.preparation import Preparation, calibrated, seconds_a_row
from benchmarks.overlap.results import CaseResult, Run
from benchmarks.pairs import run_pairs

__all__ = ["measure"]

# Batches made before the rate of the preparation alone is counted: the buffers are full by then.
_ALONE_SKIP = 4


def measure(case: Case, settings: Settings, progress: Callable[[int, str], None]) -> CaseResult:
    """Runs every variant of `case`.

    Args:
      case: what to compare.
      settings: how long.
      progress: called with the pair's number and the variant's name before each run.
    """
    files, labels = recordings(settings.rows)
    wanted = case.ratio * settings.step_seconds / settings.batch_size
    preparation = calibrated(case.kind, files, row_seconds=wanted)
    calls = 1 if case.waits else _best_calls(files, preparation, settings)
    runs = run_pairs(
        {
            **_training_runs(case, files, labels, preparation, settings),
            **_limit_runs(case, files, preparation, calls, settings),
        },
        settings.pairs,
        progress,
    )
    return CaseResult(
        case=case,
        row_seconds=(wanted, seconds_a_row(preparation, files)),
        amount=preparation.amount,
        calls_alone=calls,
        runs=runs,
    )


def _training_runs(
    case: Case,
    files: list[str],
    labels: list[int],
    preparation: Preparation,
    settings: Settings,
) -> dict[str, Callable[[], Run]]:
    made: dict[str, Callable[[], Run]] = {}
    for name, variant in variants.of(case).items():
        # Made anew for each run, as a program does: finding the files is a part of the start.
        make = functools.partial(variant, files, labels, preparation, settings.batch_size)
        made[name] = functools.partial(_train, make, settings)
    return made


def _limit_runs(
    case: Case, files: list[str], preparation: Preparation, calls: int, settings: Settings
) -> dict[str, Callable[[], Run]]:
    ready = functools.partial(variants.ready, settings.batch_size)
    made: dict[str, Callable[[], Run]] = {"step": functools.partial(_train, ready, settings)}
    if not case.waits:
        alone = functools.partial(
            variants.alone, files, preparation, settings.batch_size, calls=calls
        )
        made["alone"] = functools.partial(_alone, alone, settings.steps)
    return made


def _train(make: Callable[[], Any], settings: Settings) -> Run:
    timeline = training.train(
        make(),
        step_seconds=settings.step_seconds,
        steps=settings.epoch_steps + settings.steps,
        loop=settings.loop,
    )
    return _run(timeline, settings.epoch_steps)


def _alone(make: Callable[[], Any], batches: int) -> Run:
    ends: list[float] = []
    cpu: list[float] = []
    start, cpu_start = time.perf_counter(), time.process_time()
    with training.batches_alone(make()) as make_one:
        for _ in range(_ALONE_SKIP + batches):
            make_one()
            ends.append(time.perf_counter() - start)
            cpu.append(time.process_time() - cpu_start)
    return _run(training.Timeline(ends, cpu), _ALONE_SKIP)


def _run(timeline: training.Timeline, skip: int) -> Run:
    return Run(
        first=timeline.first,
        whole=timeline.seconds_a_step_from_call,
        steady=timeline.seconds_a_step(skip),
        steady_cpu=timeline.cpu_seconds_a_step(skip),
        ends=tuple(round(end, 5) for end in timeline.ends),
    )


def _best_calls(files: list[str], preparation: Preparation, settings: Settings) -> int:
    """Returns the number of calls at once at which the preparation alone is fastest."""
    cores = len(os.sched_getaffinity(0))

    def seconds(calls: int) -> float:
        make = functools.partial(
            variants.alone, files, preparation, settings.batch_size, calls=calls
        )
        return min(_alone(make, settings.epoch_steps).steady for _ in range(2))

    return min(sorted({1, cores, 2 * cores}), key=seconds)
