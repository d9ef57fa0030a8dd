"""Runs the loaders of a case in turn, and compares what they read."""

from __future__ import annotations

import contextlib
import dataclasses
import importlib.util
import tempfile
from collections.abc import Callable, Sequence

import numpy as np

from benchmarks.loaders.cases import LOADERS, Case, Settings
from benchmarks.loaders.processes import LoaderProcess
from benchmarks.loaders.results import CaseResult, Difference
from benchmarks.pairs import run_pairs
from benchmarks.standing import Guard

__all__ = ["difference", "measure", "missing_packages"]


def missing_packages(case: Case, loader: str) -> list[str]:
    """Returns what must be installed before `loader` can read the case."""
    needed = [*case.needs, *LOADERS[loader][1]]
    if loader in case.peers:
        needed += case.peers_need
    missing = [name for name in needed if importlib.util.find_spec(name) is None]
    if loader == "PyDataset" and not _has_keras_3():
        missing.append("keras 3")
    return missing


def _has_keras_3() -> bool:
    from importlib.metadata import version

    return version("keras").startswith("3.")


def measure(
    case: Case,
    settings: Settings,
    files: Sequence[str],
    progress: Callable[[int, str], None] = lambda pair, name: None,
) -> CaseResult:
    """Measures one case.

    Args:
      case: the case.
      settings: the size of the runs.
      files: the files to read.
      progress: called with the pair's number and the loader's name before each run.
    """
    missing = {name: missing_packages(case, name) for name in case.loaders}
    present = [name for name in case.loaders if not missing[name]]
    with contextlib.ExitStack() as stack:
        guard = stack.enter_context(Guard())
        started = {
            name: stack.enter_context(LoaderProcess(name, case, settings, files, guard))
            for name in present
        }
        with tempfile.TemporaryDirectory() as folder:
            # Of a table one file, since loaders differ in how they mix several.
            some = files if case.of_pictures or case.kind == "wav" else files[:1]
            saved = {name: started[name].values(folder, some) for name in present}
            differences = _compare(case, saved)
        runs = run_pairs(
            {name: process.read for name, process in started.items()}, settings.pairs, progress
        )
    return CaseResult(
        case=case,
        missing={name: packages for name, packages in missing.items() if packages},
        runs=runs,
        differences=differences,
    )


def _compare(case: Case, saved: dict[str, dict[str, np.ndarray]]) -> dict[str, Difference]:
    """Returns how far each loader's values are from those of the first hand-written pipeline."""
    reference = saved[case.written_by_hand[0]]
    found = {}
    for name, values in saved.items():
        twins = (
            peer
            for peer in case.peers
            if peer in saved and peer != name and difference(values, saved[peer]).greatest == 0
        )
        found[name] = dataclasses.replace(difference(values, reference), same_as=next(twins, None))
    return found


def difference(values: dict[str, np.ndarray], reference: dict[str, np.ndarray]) -> Difference:
    """Returns the mean and the greatest absolute difference over all features.

    Texts that differ anywhere count as infinitely far apart, and so do other rows or features.
    """
    if set(values) != set(reference):
        return Difference(np.inf, np.inf)
    total, count, greatest = 0.0, 0, 0.0
    for name, expected in reference.items():
        received = values[name]
        if received.shape != expected.shape:
            return Difference(np.inf, np.inf)
        if expected.dtype.kind in "SU":
            apart = np.where(received == expected, 0.0, np.inf)
        else:
            apart = np.abs(received.astype(np.float64) - expected.astype(np.float64))
        total, count = total + float(apart.sum()), count + apart.size
        greatest = max(greatest, float(apart.max()))
    return Difference(total / count, greatest)
