"""A key for what a cache holds: the source, the code that made its rows, and TensorFlow's version.

Functions are hashed by what they do: their bytecode, constants, defaults, the values they close
over and the functions they call. What cannot be hashed is never guessed.
"""

from __future__ import annotations

import functools
import hashlib
import os
import types
from collections.abc import Mapping
from typing import Any

import numpy as np

__all__ = ["UnhashableError", "digest", "sample"]

# Bytes of an array that `sample` looks at: about 0.1 s.
SAMPLED_BYTES = 1 << 26
SAMPLED_TEXTS = 100_000


class UnhashableError(Exception):
    """A value whose content cannot be told."""


def digest(*values: Any) -> str:
    """Returns a hexadecimal digest of `values`.

    Args:
      *values: numbers, text, bytes, arrays, functions, and containers of these.

    Raises:
      UnhashableError: something among them is none of these.
    """
    hasher = _Hasher()
    hasher.add(values)
    return hasher.hexdigest()


def sample(array: np.ndarray) -> tuple[Any, ...]:
    """Returns the shape, the dtype and evenly spaced rows of `array`: all, where it is small."""
    row_bytes = max(1, array.nbytes // max(1, len(array)))
    most = SAMPLED_TEXTS if array.dtype.kind == "O" else max(1, SAMPLED_BYTES // row_bytes)
    return (array.shape, array.dtype.str, array[:: -(-max(1, len(array)) // most)])


class _Hasher:
    def __init__(self) -> None:
        self._sha = hashlib.sha256()
        self._seen: set[int] = set()

    def hexdigest(self) -> str:
        return self._sha.hexdigest()[:32]

    def add(self, value: Any) -> None:
        self._sha.update(type(value).__name__.encode() + b"\0")
        if value is None or isinstance(value, (bool, int, float, complex, str, bytes)):
            self._text(repr(value))
        elif isinstance(value, os.PathLike):
            self._text(os.fspath(value))
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, np.generic):
            self._text(repr(value.item()))
        elif isinstance(value, Mapping):
            for key in value:
                self.add(key)
                self.add(value[key])
        elif isinstance(value, (list, tuple)):
            self._text(str(len(value)))
            for item in value:
                self.add(item)
        elif isinstance(value, (set, frozenset)):
            self.add(sorted(value, key=repr))
        else:
            self._object(value)

    def _text(self, text: str) -> None:
        raw = text.encode("utf-8", "surrogatepass")
        self._sha.update(str(len(raw)).encode() + b":" + raw)

    def _array(self, array: np.ndarray) -> None:
        self._text(f"{array.dtype.str}{array.shape}")
        if array.dtype.kind == "O":
            for item in array.ravel():
                self.add(item)
        else:
            self._sha.update(np.ascontiguousarray(array).view(np.uint8).data)

    def _object(self, value: Any) -> None:
        if isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            raise UnhashableError(f"the method {value.__qualname__}, which reads its object")
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, types.ModuleType):
            self._text(f"{value.__name__} {getattr(value, '__version__', '')}")
        elif isinstance(value, (type, types.BuiltinFunctionType)) or _is_library(value):
            self._text(f"{value.__module__}.{getattr(value, '__qualname__', value)}")
        elif _names_itself(value):
            self._text(repr(value))
        else:
            raise UnhashableError(f"an object of type {type(value).__name__}")

    def _function(self, function: types.FunctionType) -> None:
        if id(function) in self._seen:
            return
        self._seen.add(id(function))
        if _is_library(function):
            self._text(f"{function.__module__}.{function.__qualname__}")
            return
        self._code(function.__code__)
        self.add((function.__defaults__, function.__kwdefaults__))
        for name, cell in zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        ):
            self._text(name)
            self.add(cell.cell_contents)
        for name in sorted(_global_names(function.__code__)):
            if name in function.__globals__:
                self._text(name)
                self.add(function.__globals__[name])

    def _code(self, code: types.CodeType) -> None:
        self._sha.update(code.co_code)
        self.add((code.co_names, code.co_varnames[: code.co_argcount]))
        for constant in code.co_consts:
            self.add(constant)


def _global_names(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _global_names(constant)
    return names


def _is_library(value: Any) -> bool:
    """Whether `value` belongs to an installed library, whose version stands for its code."""
    module = getattr(value, "__module__", None) or ""
    return module.split(".")[0] in ("tensorflow", "numpy", "keras", "tf_keras", "builtins")


def _names_itself(value: Any) -> bool:
    """Whether a value's repr tells all of it, as those of dtypes and feature specs do."""
    kind = type(value)
    return kind.__module__.split(".")[0] in ("tensorflow", "numpy") and " at 0x" not in repr(value)
