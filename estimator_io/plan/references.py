"""What a function refers to by name: globals, and what it imports or reads from a module.

A module of the user's has no version, so it counts by the attributes that code reads from it.
"""

from __future__ import annotations

import dis
import functools
import importlib
import os
import re
import site
import sys
import sysconfig
import types
from collections.abc import Iterator, Mapping
from typing import Any

__all__ = ["MISSING", "Obscured", "is_library", "references", "version"]

# What a name stands for that is not there.
MISSING = "\0 there is no such name"
# By these, code reaches what no name in its bytecode tells.
_DYNAMIC = frozenset({"eval", "exec", "globals", "__import__", "import_module"})


class Obscured(Exception):  # noqa: N818 - it tells of the code, and is no error of it
    """Code reads a module in a way that bytecode does not show."""


def is_library(module: types.ModuleType) -> bool:
    """Whether `module` is installed, or Python's own, so that a version stands for its code."""
    if module.__name__ == "__main__":
        return False  # a notebook's has the file of what runs it, and holds the user's code
    spec = getattr(module, "__spec__", None)
    if getattr(spec, "origin", None) in ("built-in", "frozen"):
        return True
    places = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", ())]
    return any(os.path.realpath(place).startswith(_library_folders()) for place in places if place)


def version(module: types.ModuleType) -> str:
    """Returns what stands for the code of a library's module: its version, or its file's time."""
    top = sys.modules.get(module.__name__.split(".")[0], module)
    known = getattr(top, "__version__", None)
    if isinstance(known, str):
        return known
    file = getattr(module, "__file__", None)
    if file is None:
        return sys.version
    return f"{os.stat(file).st_size} {os.stat(file).st_mtime_ns}"


@functools.cache
def _library_folders() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = [sysconfig.get_path(name) for name in names]
    folders += [*site.getsitepackages(), site.getusersitepackages()]
    return tuple({os.path.realpath(folder) + os.sep for folder in folders if folder})


def references(function: types.FunctionType) -> Iterator[tuple[str, Any]]:
    """Yields (name, value) of all that the code of `function` refers to, in a fixed order.

    Attributes of a user's module are yielded one by one, as `module.attribute`, the module not.

    Raises:
      Obscured: the code hands a module on, or looks names up by text.
    """
    known = _closed_over(function)
    blocks = list(_blocks(function.__code__))
    steps = [list(_steps(block)) for block in blocks]
    for block in steps:
        known |= _imports(block, function.__globals__)
    for name, value in known.items():
        if not _is_users_module(value):
            yield name, value
    for block, code in zip(steps, blocks, strict=True):
        yield from _read(block, code, function.__globals__, known)


def _closed_over(function: types.FunctionType) -> dict[str, Any]:
    cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
    return {name: _content(cell) for name, cell in cells}


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return MISSING  # the variable was deleted, or is set after this


def _blocks(code: types.CodeType) -> Iterator[types.CodeType]:
    yield code
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _blocks(constant)


def _steps(code: types.CodeType) -> Iterator[tuple[str, Any]]:
    """Yields (operation, argument); those that Python 3.13 has joined are taken apart."""
    for step in dis.get_instructions(code):
        parts = re.findall(r"(?:LOAD|STORE)_FAST", step.opname)
        if len(parts) == 2 and isinstance(step.argval, tuple):
            yield from zip(parts, step.argval, strict=True)
        elif step.opname not in ("CACHE", "EXTENDED_ARG", "NOP"):
            yield step.opname, step.argval


def _imports(steps: list[tuple[str, Any]], scope: Mapping[str, Any]) -> dict[str, Any]:
    """Returns what is imported inside of a function, by the variables that hold it."""
    found: dict[str, Any] = {}
    module, value = None, None
    for at, (operation, argument) in enumerate(steps):
        if operation == "IMPORT_NAME":
            level, names = steps[at - 2][1], steps[at - 1][1]
            module = value = importlib.__import__(argument, dict(scope), None, names or (), level)
        elif operation == "IMPORT_FROM":
            # `import a.b.c as d` drops each module for the next one in it; `from a import b, c`
            # takes all from the first.
            value = getattr(value if steps[at - 1][0] == "POP_TOP" and value else module, argument)
        elif operation.startswith("STORE_") and value is not None:
            found[argument], value = value, None
    return found


def _read(
    steps: list[tuple[str, Any]],
    code: types.CodeType,
    scope: Mapping[str, Any],
    known: Mapping[str, Any],
) -> Iterator[tuple[str, Any]]:
    cells = {*code.co_freevars, *code.co_cellvars}
    for at, (operation, name) in enumerate(steps):
        if operation in ("LOAD_GLOBAL", "LOAD_NAME"):
            _require_told(name)
            value = known.get(name, scope.get(name, MISSING))
        elif operation.startswith(("LOAD_FAST", "LOAD_DEREF", "LOAD_CLASSDEREF")):
            if name in cells and operation.startswith("LOAD_FAST"):
                continue  # hands a cell to an inner function, whose own steps are read too
            value = known.get(name, MISSING)
        elif operation == "LOAD_FROM_DICT_OR_DEREF":
            value = known.get(name, scope.get(name, MISSING))
        else:
            continue
        if _is_users_module(value):
            yield _attribute(name, value, steps[at + 1 :])
        elif operation in ("LOAD_GLOBAL", "LOAD_NAME") and name in scope:
            yield name, value


def _attribute(name: str, module: Any, rest: list[tuple[str, Any]]) -> tuple[str, Any]:
    """Returns what the next steps read from `module`, through its submodules."""
    value = module
    for operation, argument in rest:
        if operation not in ("LOAD_ATTR", "LOAD_METHOD"):
            break
        _require_told(argument)
        name, value = f"{name}.{argument}", getattr(value, argument, MISSING)
        if not _is_users_module(value):
            return name, value
    raise Obscured(f"the module {name}, which is used as a value")


def _require_told(name: Any) -> None:
    if name in _DYNAMIC:
        raise Obscured(f"{name}(), which reaches what no name tells")


def _is_users_module(value: Any) -> bool:
    return isinstance(value, types.ModuleType) and not is_library(value)
