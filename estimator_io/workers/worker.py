"""A worker process: `python -m estimator_io.workers.worker SOCKET LIFE`, started by a pool alone.

It knows the program's functions only by what the pool sends, so the program's main script is not
run again. It loads no TensorFlow unless a function does. It ends when the pool's end of the pipe
LIFE closes, whatever it is doing.
"""

from __future__ import annotations

import contextlib
import os
import pickle
import select
import signal
import socket
import sys
import threading
import traceback
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from estimator_io.workers.channel import Channel
from estimator_io.workers.columns import Column, place, taken
from estimator_io.workers.segments import Segment
from estimator_io.workers.task import (
    Misfit,
    Outputs,
    TaskSpec,
    call,
    fitted,
    packed,
    refuse_tensors,
    spelled,
)

_PARENT_CHECK_SECONDS = 1.0


def main(arguments: list[str]) -> None:
    """Serves the pool at the other end of the socket until it ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group; the pool decides
    end, life = (int(argument) for argument in arguments)
    threading.Thread(target=_end_with_parent, args=(life, os.getppid()), daemon=True).start()
    channel = Channel(socket.socket(fileno=end))
    worker = _Worker(channel)
    with contextlib.suppress(EOFError, BrokenPipeError, ConnectionResetError):
        while True:
            message, files = channel.receive()
            worker.handle(message, files)


def _end_with_parent(life: int, parent: int) -> None:
    """Ends this process when `life` closes or another process has become its parent.

    A child that the parent forked holds the pipe open after the parent was killed, so that alone
    would not tell.
    """
    while True:
        ready, _, _ = select.select([life], [], [], _PARENT_CHECK_SECONDS)
        if ready or os.getppid() != parent:
            os._exit(0)


class _Worker:
    """The functions and segments that this process was sent, and the jobs it does with them."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._segments: dict[int, Segment] = {}
        self._tasks: dict[int, tuple[Callable[..., Any], TaskSpec] | str] = {}

    def handle(self, message: tuple[Any, ...], files: list[int]) -> None:
        kind, *rest = message
        getattr(self, f"_{kind}")(*rest, files)

    def _start(self, path: list[str], folder: str, environment: dict[str, str | None], _: Any):
        sys.path[:] = path
        with contextlib.suppress(OSError):  # the program may have left a folder that is gone
            os.chdir(folder)
        for name, value in environment.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        self._channel.send(("ready",))

    def _segment(self, number: int, files: list[int]) -> None:
        self._segments[number] = Segment(files[0])

    def _task(self, number: int, spec: TaskSpec, size: int, files: list[int]) -> None:
        code = Segment(files[0])
        try:
            function = pickle.loads(code.array((0, "uint8", (size,))).tobytes())
            self._tasks[number] = (function, spec)
        except BaseException as error:
            self._tasks[number] = f"{_named(error)}\n\n{traceback.format_exc()}"

    def _forget(self, numbers: list[int], _: Any) -> None:
        for number in numbers:
            self._tasks.pop(number, None)

    def _rows(self, task: int, *rest: Any) -> None:
        known = self._tasks[task]
        if isinstance(known, str):
            self._channel.send(("unloadable", known))
            return
        try:
            self._channel.send(self._done(*known, *rest[:-1]))
        finally:
            # This process may be ended at any time; a function may have closed its output.
            with contextlib.suppress(AttributeError, OSError, ValueError):
                sys.stdout.flush()

    def _done(
        self,
        function: Callable[..., Any],
        spec: TaskSpec,
        first: int,
        count: int,
        segments: tuple[int, int | None],
        at_work: int,
        inputs: list[Any],
        fixed: list[Any],
    ) -> tuple[Any, ...]:
        block = self._segments[segments[0]]
        columns = [taken(placed, block) for placed in inputs]
        row = block.array((at_work, "int64", (1,)))
        writer = None if spec.outputs is None else _Writer(spec.outputs, block, fixed)
        for number in range(first, first + count):
            row[0] = number
            leaves = [column.row(number) for column in columns]
            try:
                result = call(function, spec, leaves)
                if writer is None:
                    return ("described", _plain(result))
                writer.add(number, result)
            except BaseException as error:
                return ("failed", number, *_told(error, spec, leaves))
        results = None if segments[1] is None else self._segments[segments[1]]
        return ("done", None if writer is None else writer.rest(results))


class _Writer:
    """Collects what the function returns: in place where the size is known, else at the end."""

    def __init__(self, outputs: Outputs, block: Segment, fixed: list[Any]) -> None:
        self._outputs = outputs
        self._fixed = [None if at is None else block.array(at) for at in fixed]
        self._collected: list[list[np.ndarray]] = [[] for _ in fixed]

    def add(self, row: int, result: Any) -> None:
        for leaf, array in enumerate(fitted(result, self._outputs)):
            target = self._fixed[leaf]
            if target is not None:
                target[row] = array
            else:
                self._collected[leaf].append(array)

    def rest(self, results: Segment | None) -> list[Any] | None:
        """Returns where the leaves of unknown size now lie."""
        if results is None:
            return None
        columns = [self._column(leaf) for leaf, target in enumerate(self._fixed) if target is None]
        return place(columns, results, 0)[0]

    def _column(self, leaf: int) -> Column:
        outputs, rows = self._outputs, self._collected[leaf]
        dtype = object if outputs.dtypes[leaf] == "string" else outputs.dtypes[leaf]
        values = [row.ravel() for row in rows]
        joined = np.concatenate(values).astype(dtype, copy=False)
        if outputs.fixed(leaf):
            return Column.of(joined, tuple(size or 0 for size in outputs.shapes[leaf]))
        rank = len(outputs.shapes[leaf])
        shapes = np.array([row.shape for row in rows], np.int64).reshape(len(rows), rank)
        return Column.of(joined, None, shapes)


def _told(error: BaseException, spec: TaskSpec, leaves: list[Any]) -> tuple[str, str, str]:
    """Returns the error, the element it came with, and the traceback from the user's frames on."""
    element = spelled(packed(spec.inputs, leaves))
    if isinstance(error, Misfit):
        return f"It returned {error}.", element, ""
    frames = error.__traceback__
    while frames is not None and frames.tb_frame.f_code in _OWN_CODE:
        frames = frames.tb_next
    lines = traceback.format_exception(type(error), error, frames)
    return _named(error), element, "".join(lines)


_OWN_CODE = (_Worker._done.__code__, call.__code__)


def _named(error: BaseException) -> str:
    name = type(error).__name__
    try:
        return f"{name}: {error}"
    except Exception as another:  # its text is made by the user's code
        return f"{name}, whose message cannot be told: its __str__ raised {type(another).__name__}"


def _plain(result: Any) -> Any:
    """Returns `result` in values that can be sent without the classes of the function's modules."""
    if isinstance(result, Mapping):
        return {key: _plain(value) for key, value in result.items()}
    if isinstance(result, tuple):
        return tuple(_plain(value) for value in result)
    refuse_tensors(result)
    if type(result) in (bool, int, float, complex, bytes, str):
        return result
    array = np.asarray(result)
    if array.dtype == object and not all(isinstance(item, (bytes, str)) for item in array.flat):
        raise Misfit(
            f"{spelled(result)} of type {type(result).__name__}, for which TensorFlow has no type."
            " Expected: numbers, texts and arrays, in dicts and tuples"
        )
    # A list of Python's own numbers has no type of its own, and must not get one here.
    return result if type(result) is list else array


if __name__ == "__main__":
    main(sys.argv[1:])
