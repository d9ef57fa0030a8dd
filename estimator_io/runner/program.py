"""A script or a module, found and run as `__main__` the way `python` does it."""

from __future__ import annotations

import builtins
import dataclasses
import importlib.util
import io
import os
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from types import CodeType, ModuleType, TracebackType
from typing import Any

from estimator_io.errors import OptionError

__all__ = ["Program", "execute", "find_module", "find_script", "run"]

_INTERRUPTED = 130


@dataclasses.dataclass(frozen=True, slots=True)
class Program:
    """What is to be run.

    Attributes:
      path: the file, which becomes sys.argv[0].
      folder: what sys.path starts with.
      spec: the module's spec; None for a script.
    """

    path: str
    folder: str
    spec: ModuleSpec | None = None

    def code(self) -> CodeType:
        """Returns the compiled program."""
        if self.spec is not None and self.spec.loader is not None:
            loader: Any = self.spec.loader
            return loader.get_code(self.spec.name)
        file_name = os.path.abspath(self.path)
        with io.open_code(file_name) as file:
            return compile(file.read(), file_name, "exec", dont_inherit=True)


def find_script(path: str) -> Program:
    """Finds a script by its path; a folder means the `__main__.py` in it.

    Raises:
      OptionError: there is no such file.
    """
    folder = os.path.dirname(os.path.realpath(path))
    if os.path.isdir(path):
        folder = os.path.realpath(path)
        path = os.path.join(path, "__main__.py")
    if not os.path.isfile(path):
        raise OptionError(
            f"There is no such script. Received: {path!r}. Expected: the path of a Python file; "
            "a module is run by its name with: estimator-io run -m MODULE"
        )
    return Program(path, folder)


def find_module(name: str) -> Program:
    """Finds a module by its import name, from the current folder on; a package means its main.

    The packages it lies in are imported for that, so tf.estimator has to be there already.

    Raises:
      OptionError: there is no such module, or it is not written in Python.
    """
    folder = os.getcwd()
    sys.path.insert(0, folder)
    try:
        spec = importlib.util.find_spec(name)
        if spec is not None and spec.submodule_search_locations is not None:
            spec = importlib.util.find_spec(f"{name}.__main__")
    except ModuleNotFoundError as error:
        if not f"{name}.".startswith(f"{error.name}."):
            raise  # what a package of the program imports is missing, not the program
        spec = None
    finally:
        sys.path.remove(folder)
    if spec is None or spec.origin is None or not spec.has_location:
        raise OptionError(
            f"There is no such module to run. Received: {name!r}. Expected: the import name of a "
            "Python module, or of a package with a __main__; a file is run with: "
            "estimator-io run SCRIPT"
        )
    return Program(spec.origin, folder, spec)


def run(
    program: Program, arguments: list[str], program_builtins: dict[str, Any] | None = None
) -> int:
    """Runs a program in this process as `__main__`.

    `sys.argv`, `sys.path[0]` and `__main__` are the program's from here on, also for what it
    registered to run at exit. SystemExit passes through, so its code becomes that of the process.

    Args:
      program: what to run.
      arguments: sys.argv behind the program's own name.
      program_builtins: what its code finds as builtins; None for the usual ones.

    Returns:
      0 when the program ran to its end, 1 when it raised (the traceback, which starts in the
      program, is printed), 130 when it was interrupted.
    """
    try:
        execute(program, arguments, program_builtins)
    except SystemExit:
        raise
    except BaseException as error:
        error.__traceback__ = _from_program(error.__traceback__)
        sys.excepthook(type(error), error, error.__traceback__)
        return _INTERRUPTED if isinstance(error, KeyboardInterrupt) else 1
    return 0


def execute(
    program: Program, arguments: list[str], program_builtins: dict[str, Any] | None = None
) -> None:
    """Runs a program as `run` does, and lets whatever it raises through."""
    sys.argv = [program.path, *arguments]
    sys.path[0] = program.folder
    main = _main_module(program)
    main.__dict__["__builtins__"] = program_builtins or builtins
    exec(program.code(), main.__dict__)


def _main_module(program: Program) -> ModuleType:
    main = ModuleType("__main__")
    file_name = os.path.abspath(program.path)
    values: dict[str, Any] = {"__file__": file_name, "__spec__": program.spec}
    if program.spec is None:
        values["__loader__"] = SourceFileLoader("__main__", file_name)
        values["__package__"] = None
    else:
        values["__loader__"] = program.spec.loader
        values["__package__"] = program.spec.parent
    main.__dict__.update(values)
    sys.modules["__main__"] = main
    return main


def _from_program(traceback: TracebackType | None) -> TracebackType | None:
    """Returns the traceback without the frames that led into the program."""
    while traceback is not None and traceback.tb_frame.f_code.co_filename == __file__:
        traceback = traceback.tb_next
    return traceback
