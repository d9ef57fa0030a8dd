"""Starts and ends a worker process, and knows what it was sent."""

from __future__ import annotations

import collections
import os
import signal
import socket
import subprocess
import sys

from estimator_io.workers.block import Chunk, Task
from estimator_io.workers.channel import Channel
from estimator_io.workers.segments import Segment

__all__ = ["WorkerProcess", "spell_status"]

_MODULE = "estimator_io.workers.worker"
_END_SECONDS = 1.0  # for a worker to notice that it should end, before it is killed

# Workers share the cores, so each computes with one thread unless the program says otherwise.
_ONE_THREAD = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
# What only the start of the interpreter needs; the worker gets the program's own values back.
_FOR_THE_START = ("PYTHONPATH", "PYTHONSAFEPATH")


class WorkerProcess:
    """A worker, from its start to its end.

    Attributes:
      jobs: what it was given and has not answered.
      ready: whether it has answered at all.
      segments: numbers of the segments that it knows.
      tasks: numbers of the tasks that it knows.
      channel: what it is spoken to by.
      pid: its process number.
    """

    def __init__(self) -> None:
        self.jobs: collections.deque[Chunk] = collections.deque()
        self.ready = False
        self.segments: set[int] = set()
        self.tasks: set[int] = set()
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        life, self._life = os.pipe()
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-m", _MODULE, str(theirs.fileno()), str(life)],
                stdin=subprocess.DEVNULL,
                pass_fds=(theirs.fileno(), life),
                # On Python 3.10 the folder is searched for modules: be it the one of this package,
                # never the one that the program happens to stand in.
                cwd=_package_folder(),
                env=_environment(),
            )
        finally:
            theirs.close()
            os.close(life)
        self.pid = self._process.pid
        self.channel = Channel(ours)
        restored = {name: os.environ.get(name) for name in _FOR_THE_START}
        self.channel.send(("start", _path(), os.getcwd(), restored))

    def know_segment(self, segment: Segment) -> None:
        """Sends the descriptor of a segment, unless the worker has it."""
        if segment.number not in self.segments:
            self.channel.send(("segment", segment.number), [segment.file])
            self.segments.add(segment.number)

    def know_task(self, task: Task) -> None:
        """Sends a function, unless the worker has it."""
        if task.number not in self.tasks:
            self.channel.send(("task", task.number, task.spec, task.size), [task.code.file])
            self.tasks.add(task.number)

    def forget(self, numbers: list[int]) -> None:
        """Tells the worker to drop functions that are no longer used."""
        known = [number for number in numbers if number in self.tasks]
        if known:
            self.tasks.difference_update(known)
            self.channel.send(("forget", known))

    def end(self) -> None:
        """Has the worker end; call `wait` afterwards."""
        self._close_life()
        self.channel.close()

    def abandon(self) -> None:
        """Lets go of a worker that belongs to the process that this one was forked from."""
        self._process.returncode = 0  # it is no child of ours to wait for
        self._close_life()
        self.channel.close(for_both=False)

    def _close_life(self) -> None:
        if self._life is not None:
            os.close(self._life)
            self._life = None

    def wait(self) -> int:
        """Returns the exit status: negative is the number of a signal; kills it if it lingers."""
        try:
            return self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            return self._process.wait()


def spell_status(status: int) -> str:
    """Returns how a process ended, in words."""
    if status >= 0:
        return f"ended with exit code {status}"
    try:
        name = signal.Signals(-status).name
    except ValueError:
        name = f"signal {-status}"
    hint = ", which the system also sends when memory runs out" if name == "SIGKILL" else ""
    return f"was killed by {name}{hint}"


def _environment() -> dict[str, str]:
    environment = dict(os.environ)
    for name in _ONE_THREAD:
        environment.setdefault(name, "1")
    environment["CUDA_VISIBLE_DEVICES"] = "-1"
    environment["PYTHONPATH"] = os.pathsep.join(_path())
    environment["PYTHONSAFEPATH"] = "1"  # Python 3.11: adds no folder of its own to sys.path
    return environment


def _path() -> list[str]:
    """Returns sys.path of this process, without what depends on the working folder."""
    return [os.path.abspath(place) for place in sys.path]


def _package_folder() -> str:
    return os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
