"""How far the demo has come: a bar on a terminal, else one line a run."""

from __future__ import annotations

from typing import TextIO

from tqdm import tqdm

__all__ = ["Progress"]


class _Bar(tqdm):
    monitor_interval = 0  # no thread that watches a bar which moves all the time


class Progress:
    """A watcher of steps that shows how many of all runs' steps are done.

    Args:
      runs: runs to come.
      steps: steps of each.
      stream: where to show it; a bar is drawn on a terminal only.
    """

    def __init__(self, runs: int, steps: int, stream: TextIO) -> None:
        self._runs = runs
        self._run = 0
        self._stream = stream
        self._bar = _Bar(
            total=runs * steps,
            unit="step",
            file=stream,
            disable=not stream.isatty(),
            dynamic_ncols=True,
            leave=False,
        )

    def __enter__(self) -> Progress:
        """Returns the progress."""
        return self

    def __exit__(self, *_: object) -> None:
        """Removes the bar."""
        self._bar.close()

    def start_run(self, name: str) -> None:
        """Says which run begins."""
        self._run += 1
        self._bar.set_description(name)
        if self._bar.disable:
            print(f"run {self._run} of {self._runs}: {name}", file=self._stream, flush=True)

    def before_step(self, step: int) -> None:
        """Does nothing: a step shows when it is done."""

    def after_step(self, step: int) -> None:
        """Moves the bar by one step."""
        self._bar.update()
