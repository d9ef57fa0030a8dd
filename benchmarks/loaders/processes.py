"""Loaders in processes of their own."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Sequence

import numpy as np

from benchmarks.loaders.cases import Case, Settings
from benchmarks.loaders.loader_process import Reading
from benchmarks.standing import Guard, StandingProcess

__all__ = ["LoaderProcess"]


class LoaderProcess(StandingProcess):
    """A loader that runs in a process of its own, with its workers, until the block ends."""

    def __init__(
        self, loader: str, case: Case, settings: Settings, files: Sequence[str], guard: Guard
    ) -> None:
        hello = {
            "loader": loader,
            "case": dataclasses.asdict(case),
            "settings": dataclasses.asdict(settings),
            "files": list(files),
        }
        super().__init__(loader, "benchmarks.loaders.loader_process", hello, guard)
        self._loader = loader

    def values(self, folder: str, files: Sequence[str]) -> dict[str, np.ndarray]:
        """Returns the first rows in the order of the files, by feature."""
        path = os.path.join(folder, f"{self._loader}.npz")
        self.ask({"do": "values", "path": path, "files": list(files)})
        with np.load(path) as saved:
            return dict(saved)

    def read(self) -> Reading:
        """Returns what the loader read in one run."""
        return Reading(**self.run({"do": "run"}))
