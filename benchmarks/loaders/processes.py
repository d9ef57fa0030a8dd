"""Loaders in processes of their own: started, stopped between their runs, and never left behind."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.loaders.cases import Case, Settings
from benchmarks.loaders.loader_process import Reading

__all__ = ["Guard", "LoaderProcess"]

# A loader imports its packages and reads a table within this, on a busy machine too.
_PATIENCE_SECONDS = 240
_ROOT = Path(__file__).parents[2]

# Ends the process groups it was told of when its standard input ends, however that comes about.
_GUARD = """
import contextlib, os, signal, sys
groups = set()
for line in sys.stdin:
    action, group = line.split()
    (groups.add if action == "watch" else groups.discard)(int(group))
for group in groups:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGKILL)
"""


class Guard:
    """Ends loaders when this process ends, by whatever signal: a stopped one cannot notice it."""

    def __enter__(self) -> Guard:
        self._process = subprocess.Popen(
            [sys.executable, "-c", _GUARD],
            stdin=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        return self

    def watch(self, group: int) -> None:
        """Ends the process group `group` if this process ends first."""
        self._say("watch", group)

    def release(self, group: int) -> None:
        """Leaves the process group `group` alone from now on."""
        self._say("release", group)

    def _say(self, action: str, group: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{action} {group}\n")
        self._process.stdin.flush()

    def __exit__(self, *exception: object) -> None:
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait()


class LoaderProcess:
    """A loader that runs in a process of its own, with its workers, until the block ends.

    Loaders read ahead into their buffers. One that is not being measured would do so on the time of
    another, and begin its next run with what is ready; therefore its processes are stopped.
    """

    def __init__(
        self, loader: str, case: Case, settings: Settings, files: Sequence[str], guard: Guard
    ) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.loaders.loader_process"],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that its workers can be ended with it
        )
        self._loader = loader
        self._guard = guard
        guard.watch(self._process.pid)
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
        """Returns what the loader read in one run; before and behind it, it stands still."""
        os.killpg(self._process.pid, signal.SIGCONT)
        try:
            return Reading(**self._ask({"do": "run"}))
        finally:
            os.killpg(self._process.pid, signal.SIGSTOP)

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
        self._guard.release(self._process.pid)
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                with contextlib.suppress(BrokenPipeError):
                    stream.close()
