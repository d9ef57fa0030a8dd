"""Programs in processes of their own, for all of which TensorFlow is loaded once.

`start` and `run` take what `python` takes: "-c" and code, "-m" and a module, or a script, and what
it is given. A server, one for each process of tests, imports TensorFlow, starts nothing with it,
and forks for each program; in an interpreter of its own each would first spend three to five
seconds of a processor on that import. For programs that import TensorFlow anyway: what a test says
about an import, or about the end of the interpreter, needs `subprocess`.
"""

from __future__ import annotations

import atexit
import contextlib
import functools
import gc
import json
import os
import runpy
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
import types
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import IO, Any

ROOT = Path(__file__).resolve().parent.parent
Words = Sequence[str | os.PathLike[str]]


def run(
    arguments: Words,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] = ROOT,
    timeout: float = 280,
) -> subprocess.CompletedProcess[str]:
    """Runs a program to its end, as `subprocess.run` does with captured text."""
    with tempfile.TemporaryFile("w+") as out, tempfile.TemporaryFile("w+") as error:
        program = start(arguments, env=env, cwd=cwd, streams=(out, error))
        try:
            program.wait(timeout)
        finally:
            program.kill()
        texts = [file.seek(0) or file.read() for file in (out, error)]
    return subprocess.CompletedProcess([*map(str, arguments)], program.returncode or 0, *texts)


def start(
    arguments: Words,
    *,
    env: Mapping[str, str] | None = None,
    cwd: str | os.PathLike[str] = ROOT,
    streams: tuple[IO[str], IO[str]] | None = None,
) -> Program:
    """Starts a program; its output and errors go into `streams`, or can be read while it runs.

    What it reads is written to the program's `stdin`; with `streams` it reads nothing.
    """
    request = {
        "arguments": [os.fspath(word) for word in arguments],
        "environment": dict(os.environ if env is None else env),
        "folder": os.fspath(cwd),
    }
    with contextlib.ExitStack() as stack:
        file = stack.enter_context(tempfile.TemporaryFile("w+"))
        json.dump(request, file)
        file.flush()
        ends, writes_ends = _pipe()
        given, ours = [file, stack.enter_context(writes_ends)], []
        if streams is not None:
            given += [stack.enter_context(open(os.devnull)), *streams]
        else:
            pipes = [_pipe() for _ in range(3)]
            for theirs in (pipes[0][0], pipes[1][1], pipes[2][1]):
                given.append(stack.enter_context(theirs))
            ours = [pipes[0][1], pipes[1][0], pipes[2][0]]
        socket.send_fds(_server(), [b"."], [file.fileno() for file in given])
    return Program(ends, *ours)


def _pipe() -> tuple[IO[str], IO[str]]:
    reader, writer = os.pipe()
    return os.fdopen(reader), os.fdopen(writer, "w")


class Program:
    """A process that runs; what `subprocess.Popen` is for others.

    Attributes:
      pid: number of the process.
      returncode: how it ended, as `subprocess` tells it; None as long as that is unknown.
      stdin: what it reads; None where it reads nothing.
      stdout: what it prints; None where that goes elsewhere.
      stderr: its errors, likewise.
    """

    def __init__(
        self,
        ends: IO[str],
        stdin: IO[str] | None = None,
        stdout: IO[str] | None = None,
        stderr: IO[str] | None = None,
    ) -> None:
        self._ends = ends
        self.pid = int(ends.readline())
        self.returncode: int | None = None
        self.stdin = stdin
        self.stdout = stdout
        self.stderr = stderr

    def wait(self, timeout: float | None = None) -> int:
        """Returns how it ended, or raises `subprocess.TimeoutExpired`."""
        if self.returncode is None:
            if not select.select([self._ends], [], [], timeout)[0]:
                raise subprocess.TimeoutExpired(str(self.pid), timeout or 0)
            self.returncode = int(self._ends.readline())
            self._ends.close()
        return self.returncode

    def poll(self) -> int | None:
        """Returns how it ended, or None if it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.wait(0)
        return self.returncode

    def send_signal(self, number: int) -> None:
        """Sends a signal, unless it has ended."""
        if self.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def kill(self) -> None:
        """Kills it, unless it has ended."""
        self.send_signal(signal.SIGKILL)


@functools.cache
def _server() -> socket.socket:
    """Returns where this process asks for programs; the server ends when it is closed."""
    ours, theirs = socket.socketpair()
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
    environment |= {"TF_CPP_MIN_LOG_LEVEL": "3", "CUDA_VISIBLE_DEVICES": "-1"}
    with theirs:
        server = subprocess.Popen(
            [sys.executable, "-m", "tests.forks", str(theirs.fileno())],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )

    def end() -> None:
        ours.close()
        server.wait()

    atexit.register(end)
    return ours


def _serve(requests: socket.socket) -> None:
    import tensorflow as tf

    _ = tf.keras.layers  # which is loaded when it is first used
    gc.freeze()  # or the first collection in each program copies all of it
    while True:
        message, descriptors, *_ = socket.recv_fds(requests, 1, 5)
        if not message:
            return
        keeper = os.fork()
        if not keeper:
            requests.close()
            if not os.fork():
                _keep(*descriptors)  # a grandchild, which nobody has to wait for
            os._exit(0)
        os.waitpid(keeper, 0)
        for descriptor in descriptors:
            os.close(descriptor)


def _keep(request: int, ends: int, *streams: int) -> None:
    """Forks once more, for the program, and tells its number and how it ends."""
    program = os.fork()
    if not program:
        os.close(ends)
        _become(json.loads(os.pread(request, 1 << 24, 0)), streams)
    for descriptor in (request, *streams):
        os.close(descriptor)
    os.write(ends, b"%d\n" % program)
    _, status = os.waitpid(program, 0)
    with contextlib.suppress(BrokenPipeError):
        os.write(ends, b"%d\n" % os.waitstatus_to_exitcode(status))
    os._exit(0)


def _become(request: dict[str, Any], streams: tuple[int, ...]) -> None:
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environment"])
    code = 1
    try:
        _execute(*request["arguments"])
        code = 0
    except SystemExit as error:
        if isinstance(error.code, int):
            code = error.code
        elif error.code is None:
            code = 0
        else:
            print(error.code, file=sys.stderr)
    except BaseException:
        traceback.print_exc()
    finally:
        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code & 0xFF)


def _execute(kind: str, *words: str) -> None:
    """Does what `python` does with these words."""
    if kind == "-c":
        main = types.ModuleType("__main__")
        sys.modules["__main__"] = main
        sys.argv, sys.path[0] = ["-c", *words[1:]], ""
        exec(compile(words[0], "<string>", "exec"), vars(main))
    elif kind == "-m":
        sys.argv, sys.path[0] = [*words], os.getcwd()
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv, sys.path[0] = [kind, *words], os.path.dirname(os.path.abspath(kind))
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    # Not as __main__, whose place each program takes.
    from tests.forks import _serve as serve

    serve(socket.socket(fileno=int(sys.argv[1])))
