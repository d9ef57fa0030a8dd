"""What is measured, in processes of their own: started once, standing still between their runs.

A process that is not measured would read ahead on the time of another, and begin its next run with
what is ready; therefore it is stopped (SIGSTOP) with its workers. Starting it once a case, rather
than once a run, spares most of the time of a benchmark, and the first seconds of a pipeline.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

__all__ = ["Guard", "Order", "StandingProcess", "serve", "standing"]

Order = dict[str, Any]  # a line of JSON, one way or the other

# A process imports its packages and reads a table within this, on a busy machine too.
_PATIENCE_SECONDS = 240
_ROOT = Path(__file__).parents[1]

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
    """Ends processes when this one ends, by whatever signal: a stopped one cannot notice it."""

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


class StandingProcess:
    """A process, with its workers, that answers orders until the block ends.

    Args:
      name: of what it measures, for errors.
      module: run with `python -m`; it calls `serve`.
      hello: the first line that it reads.
      guard: ends it if this process ends first.
    """

    def __init__(self, name: str, module: str, hello: Order, guard: Guard) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", *module.split()],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # so that its workers can be ended with it
        )
        self._name = name
        self._guard = guard
        guard.watch(self._process.pid)
        self._say(hello)

    def run(self, order: Order) -> Order:
        """Returns the answer to an order; before and behind it, the process stands still."""
        os.killpg(self._process.pid, signal.SIGCONT)
        try:
            return self.ask(order)
        finally:
            os.killpg(self._process.pid, signal.SIGSTOP)

    def ask(self, order: Order) -> Order:
        """Returns the answer to an order.

        Raises:
          TimeoutError: there is none within four minutes.
          RuntimeError: the process ended.
        """
        self._say(order)
        assert self._process.stdout is not None
        # An answer is one line, so none of it waits in a buffer of Python's.
        if not select.select([self._process.stdout], [], [], _PATIENCE_SECONDS)[0]:
            raise TimeoutError(f"{self._name!r} has not answered for {_PATIENCE_SECONDS} s.")
        answer = self._process.stdout.readline()
        if not answer:
            raise RuntimeError(
                f"{self._name!r} ended with code {self._process.wait()}. Its error stands above."
            )
        return json.loads(answer)

    def _say(self, order: Order) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order) + "\n")
        self._process.stdin.flush()

    def __enter__(self) -> StandingProcess:
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


@contextlib.contextmanager
def standing(module: str, hellos: dict[str, Order]) -> Iterator[dict[str, Callable[[], Order]]]:
    """Yields for each name a function that has its process run once, and returns the answer.

    Each process is ready, and stopped, when the block begins.

    Args:
      module: run with `python -m`; it calls `serve`.
      hellos: the first line for each process, by name.
    """
    with contextlib.ExitStack() as stack:
        guard = stack.enter_context(Guard())
        runs: dict[str, Callable[[], Order]] = {}
        for name, hello in hellos.items():
            process = stack.enter_context(StandingProcess(name, module, hello, guard))
            process.run({"do": "run"})  # warm
            runs[name] = lambda process=process: process.run({"do": "run"})
        yield runs


def serve(
    answer_to: Callable[[dict[str, Any]], Callable[[dict[str, Any]], dict[str, Any]]],
) -> None:
    """Answers orders, one JSON line each; the process ends with its standard input.

    Args:
      answer_to: called with the first line; returns what answers an order.
    """
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a package prints must not stand between the answers
    answer = answer_to(json.loads(sys.stdin.readline()))
    for line in sys.stdin:
        answers.write(json.dumps(answer(json.loads(line))) + "\n")
        answers.flush()
    os._exit(0)  # loaders wait for their workers at exit, some of them for long
