"""Where code stands, as people write it: file:line, from the current folder on."""

from __future__ import annotations

import functools
import gc
import os
import sys
import sysconfig
import threading
import traceback
from types import FrameType
from typing import Any

__all__ = [
    "caller_place",
    "error_place",
    "frame_place",
    "frames_of_threads",
    "function_place",
    "is_library",
    "last_line",
    "spell_place",
    "standing_place",
]

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def function_place(function: Any) -> str:
    """Returns the file and line where a function was written; "" where Python cannot tell.

    A partial stands for the function it calls, a bound method for its function, an object for its
    `__call__`, and an object without Python code for its class.
    """
    while isinstance(function, functools.partial):
        function = function.func
    function = getattr(function, "__wrapped__", function)
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        code = getattr(vars(type(function)).get("__call__"), "__code__", None)
    if code is None or is_library(code.co_filename):
        return ""
    return spell_place(code.co_filename, code.co_firstlineno)


def error_place(error: BaseException) -> str:
    """Returns the last line of the program's own code that an error passed through.

    Lines of libraries count only where there is none of the program; "" where there is no line.
    """
    if isinstance(error, SyntaxError) and error.filename:
        return spell_place(error.filename, error.lineno or 0)
    frames = [
        (frame.filename, frame.lineno or 0)
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<")
    ]
    own = [frame for frame in frames if not is_library(frame[0])]
    found = own or frames
    return spell_place(*found[-1]) if found else ""


def caller_place() -> str:
    """Returns the innermost line of the program's own code that is being run now, or ""."""
    return frame_place(sys._getframe(1))


def frame_place(frame: FrameType | None) -> str:
    """Returns the innermost line of the program's own code in a frame and its callers, or ""."""
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith("<") and not is_library(name):
            return spell_place(name, frame.f_lineno)
        frame = frame.f_back
    return ""


def last_line(error: BaseException) -> str:
    """Returns an error as the last line of its traceback shows it, in one line."""
    # What TensorFlow says of an operation goes on over many lines.
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    name = type(error).__name__
    return f"{name}: {lines[0]}" if lines else name


def is_library(file_name: str) -> bool:
    """Tells whether a file is Python's, an installed package's or ours."""
    path = os.path.abspath(file_name)
    return path.startswith(_libraries())


@functools.cache
def _libraries() -> tuple[str, ...]:
    paths = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    return tuple(sorted(os.path.join(path, "") for path in {*paths, _OWN} if path))


def frames_of_threads() -> dict[int, FrameType]:
    """Returns the frame of each thread of this process.

    A garbage collection inside `sys._current_frames` can wait for ever for a lock that it holds
    itself (https://github.com/python/cpython/issues/106883), so there is none meanwhile.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        return sys._current_frames()
    finally:
        if enabled:
            gc.enable()


def standing_place(ident: int | None = None) -> str:
    """Returns the program's line that a thread stands at, or one that TensorFlow calls Python in.

    Args:
      ident: of the thread; None looks at those of TensorFlow alone.

    Returns:
      The place, or "" where none of them is in the program's own code.
    """
    dummy: Any = vars(threading)["_DummyThread"]  # what a thread that Python did not start is to it
    started = {each.ident for each in threading.enumerate() if not isinstance(each, dummy)}
    frames = frames_of_threads()
    foreign = [each for each in frames if each not in started]
    found = [frame_place(frames.get(each)) for each in (ident or 0, *foreign)]
    return next(filter(None, found), "")


def spell_place(file_name: str, line: int | None = None) -> str:
    """Returns file:line, from the current folder on where the file lies below it."""
    path = os.path.abspath(file_name)
    near = os.path.relpath(path)
    short = path if near.startswith(os.pardir) else near
    return short if line is None else f"{short}:{line}"
