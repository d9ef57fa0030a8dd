"""Runs the loaders of a case in turn, and compares what they read."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import importlib.util
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loaders.cases import LOADERS, Case, Settings
from benchmarks.loaders.loader_process import Reading
from benchmarks.loaders.results import CaseResult, Difference
from benchmarks.pairs import run_pairs

__all__ = ["measure", "missing_packages"]

# A loader imports its packages and reads a table within this, on a busy machine too.
_PATIENCE_SECONDS = 120
_ROOT = Path(__file__).parents[2]


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
        started = {
            name: stack.enter_context(LoaderProcess(name, case, settings, files))
            for name in present
        }
        with tempfile.TemporaryDirectory() as folder:
            # Of a table one file, since loaders differ in how they mix several.
            some = files if case.of_pictures or case.kind == "wav" else files[:1]
            saved = {name: started[name].values(folder, some) for name in present}
            differences = _compare(case, saved)
        runs = run_pairs(
            {name: functools.partial(process.run) for name, process in started.items()},
            settings.pairs,
            progress,
        )
    return CaseResult(
        case=case,
        missing={name: packages for name, packages in missing.items() if packages},
        runs=runs,
        differences=differences,
    )


class LoaderProcess:
    """A loader that runs in a process of its own, with its workers, until the block ends."""

    def __init__(self, loader: str, case: Case, settings: Settings, files: Sequence[str]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.loaders.loader_process"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that its workers can be ended with it
        )
        self._loader = loader
        self._say(
            {
                "loader": loader,
                "case": dataclasses.asdict(case),
                "settings": dataclasses.asdict(settings),
                "files": list(files),
            }
        )

    def values(self, folder: str, files: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns the first rows in the order of the files, by feature."""
        path = os.path.join(folder, f"{self._loader}.npz")
        self._ask({"do": "values", "path": path, "files": list(files)})
        with np.load(path) as saved:
            return dict(saved)

    def run(self) -> Reading:
        """Returns what the loader read in one run."""
        return Reading(**self._ask({"do": "run"}))

    def _ask(self, order: dict[str, Any]) -> dict[str, Any]:
        self._say(order)
        assert self._process.stdout is not None
        # An answer is one line, so none of it waits in a buffer of Python's.
        if not select.select([self._process.stdout], [], [], _PATIENCE_SECONDS)[0]:
            raise TimeoutError(
                f"The loader {self._loader!r} has not answered for {_PATIENCE_SECONDS} s."
            )
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(
                f"The loader {self._loader!r} ended with code {self._process.wait()}. Its error"
                " stands above."
            )
        return json.loads(answer)

    def _say(self, order: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def __enter__(self) -> LoaderProcess:
        return self

    def __exit__(self, *exception: object) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()


def _compare(case: Case, saved: dict[str, dict[str, np.ndarray]]) -> dict[str, Difference]:
    """Returns how far each loader's values are from those of the first hand-written pipeline."""
    reference = saved[case.written_by_hand[0]]
    return {name: difference(values, reference) for name, values in saved.items()}


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
