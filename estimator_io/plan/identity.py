"""A key for what a cache holds: the source, the code that made its rows, and TensorFlow's version.

Functions are hashed by what they do: their bytecode, constants, defaults, the values they close
over and the functions they call. What cannot be hashed is never guessed.
"""

from __future__ import annotations

import collections
import datetime
import dis
import functools
import hashlib
import os
import re
import sys
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.plan.references import MISSING, is_library, references, version

__all__ = ["UnhashableError", "digest", "sample"]

# Bytes of an array that `sample` looks at: about 0.1 s.
SAMPLED_BYTES = 1 << 26
SAMPLED_TEXTS = 100_000

# Of these, repr tells all there is.
_PLAIN = (bool, int, float, complex, str, bytes, range, type(...), type(None), type(NotImplemented))
_TOLD = (tf.DType, tf.TensorShape, tf.TensorSpec, tf.RaggedTensorSpec, tf.SparseTensorSpec)
_TIMES = (datetime.date, datetime.time, datetime.timedelta, datetime.timezone)
# What TensorFlow notes on a function once it was traced, or run by tf.numpy_function.
_SET_BY_TENSORFLOW = frozenset({"ag_dnc_wrapper__", "autograph_info__"})
# Of a class: what Python adds, and what says nothing of its behaviour or follows from the rest.
# fmt: off
_NOT_OF_CLASS = frozenset((
    "__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__annotations__", "__annotate__", "__annotate_func__",
    "__annotations_cache__", "__dataclass_fields__", "__dataclass_params__",
    "__abstractmethods__", "_abc_impl", "__orig_bases__", "__parameters__",
))
# fmt: on


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
    try:
        hasher.add(values)
    except UnhashableError:
        raise
    except Exception as error:  # looking into a user's objects runs their code, and may import
        raise UnhashableError(f"{error} ({type(error).__name__})") from error
    return hasher.hexdigest()


def sample(array: np.ndarray) -> tuple[Any, ...]:
    """Returns the shape, the dtype and evenly spaced rows of `array`: all, where it is small."""
    row_bytes = max(1, array.nbytes // max(1, len(array)))
    most = SAMPLED_TEXTS if array.dtype.kind == "O" else max(1, SAMPLED_BYTES // row_bytes)
    return (array.shape, array.dtype.str, array[:: -(-max(1, len(array)) // most)])


class _Hasher:
    def __init__(self) -> None:
        self._sha = hashlib.sha256()
        # Functions and classes by id, in the order of their first meeting. They are kept, so that
        # no other object gets the id of one that has gone.
        self._seen: dict[int, tuple[int, Any]] = {}

    def hexdigest(self) -> str:
        return self._sha.hexdigest()[:32]

    def add(self, value: Any) -> None:
        kind = type(value)
        self._sha.update(kind.__name__.encode() + b"\0")
        if isinstance(value, (dict, list, tuple, set, frozenset, np.ndarray)):
            self._subclass(value)
        if kind in _PLAIN:
            self._text(repr(value))
        elif isinstance(value, os.PathLike):
            self._text(os.fspath(value))
        elif isinstance(value, np.ndarray):
            self._array(value)
        elif isinstance(value, np.generic):
            self._array(np.asarray(value))
        elif isinstance(value, (dict, types.MappingProxyType)):
            self._mapping(value)
        elif isinstance(value, (list, tuple)):
            self._text(str(len(value)))
            for item in value:
                self.add(item)
        elif isinstance(value, (set, frozenset)):
            self.add(sorted(digest(item) for item in value))
        elif isinstance(value, (types.FunctionType, type)):
            self._once(value)
        elif not self._callable(value):
            self._object(value)

    def _text(self, text: str | bytes) -> None:
        raw = text.encode("utf-8", "surrogatepass") if isinstance(text, str) else text
        self._sha.update(str(len(raw)).encode() + b":" + raw)

    def _subclass(self, value: Any) -> None:
        """Adds what a subclass of a container has beside its items."""
        if isinstance(value, np.ma.MaskedArray):
            self.add((np.ma.getmaskarray(value), value.fill_value))
        elif isinstance(value, collections.defaultdict):
            self.add(value.default_factory)
        elif not _of_library(type(value)):
            self._once(type(value))
            self.add(getattr(value, "__dict__", None))

    def _mapping(self, mapping: Mapping[Any, Any]) -> None:
        self._text(str(len(mapping)))
        for key, item in mapping.items():
            self.add(key)
            self.add(item)

    def _array(self, array: np.ndarray) -> None:
        fields = array.dtype.str if array.dtype.names is None else repr(array.dtype.descr)
        self._text(f"{fields}{array.shape}")
        if array.dtype.kind == "O":
            for item in np.asarray(array).ravel():
                self.add(item)
        elif array.dtype.hasobject:
            raise UnhashableError("a structured array that holds objects")
        else:
            self._sha.update(np.ascontiguousarray(array).view(np.ndarray).view(np.uint8).data)

    def _callable(self, value: Any) -> bool:
        """Adds what can be called, code and modules; returns whether `value` is one of these."""
        if isinstance(value, functools.partial):
            self.add((value.func, value.args, value.keywords))
        elif isinstance(value, types.MethodType):
            if not isinstance(value.__self__, type):
                raise UnhashableError(f"the method {value.__qualname__}, which reads its object")
            self.add((value.__self__, value.__func__))
        elif isinstance(value, types.CodeType):
            self._code(value)
        elif isinstance(value, types.ModuleType):
            if not is_library(value):
                raise UnhashableError(f"the module {value.__name__}, which is used as a value")
            self._text(f"{value.__name__} {version(value)}")
        elif isinstance(value, types.BuiltinFunctionType):
            self._builtin(value)
        elif isinstance(value, (types.WrapperDescriptorType, types.MethodDescriptorType)):
            self._text(value.__name__)
            self.add(value.__objclass__)
        elif isinstance(value, (staticmethod, classmethod)):
            self.add(value.__func__)
        elif isinstance(value, property):
            self.add((value.fget, value.fset, value.fdel))
        else:
            return False
        return True

    def _builtin(self, function: types.BuiltinFunctionType) -> None:
        self._text(function.__qualname__)
        self.add(function.__self__)  # the module it belongs to, or the object that it is bound to

    def _object(self, value: Any) -> None:
        kind = type(value)
        if isinstance(value, tf.Variable):
            raise UnhashableError("a tf.Variable, which may change before the rows are read")
        if isinstance(value, tf.Tensor):
            self.add((value.dtype.name, value.numpy()))  # type: ignore[attr-defined]
        elif isinstance(value, (*_TOLD, np.dtype)):
            self._text(repr(value))
        elif isinstance(value, (bytearray, memoryview)):
            self.add(bytes(value))
        elif isinstance(value, re.Pattern):
            self.add((value.pattern, value.flags))
        elif isinstance(value, slice):
            self.add((value.start, value.stop, value.step))
        elif kind in (*_TIMES, datetime.datetime):
            self._text(repr(value))
        elif isinstance(value, types.MemberDescriptorType) or kind.__name__ == "_tuplegetter":
            self._text(repr(value.__reduce__()[1][0]) if kind.__name__ == "_tuplegetter" else "")
        elif _found_by_name(value):
            self._named(value)
        elif isinstance(value, tf.lookup.TextFileInitializer):
            self.add((_file_facts(_text(value._filename_arg)), _initializer_facts(value)))
        elif isinstance(value, tf.lookup.KeyValueTensorInitializer):
            self.add((value._keys, value._values))
        elif _of_library(kind) and hasattr(value, "python_function"):
            self.add(value.python_function)  # made by tf.function
        else:
            raise UnhashableError(f"an object of type {kind.__name__}")

    def _once(self, value: Any) -> None:
        """Adds a function or class, whose later meetings add which one it is."""
        known = self._seen.get(id(value))
        if known is not None:
            self._text(f"seen {known[0]}")
            return
        self._seen[id(value)] = (len(self._seen), value)
        if _found_by_name(value):
            self._named(value)
        elif isinstance(value, type):
            self._class(value)
        else:
            self._function(value)

    def _named(self, value: Any) -> None:
        module, name = _name(value)
        self._text(f"{module}.{name}")
        if module in sys.modules:
            self._text(version(sys.modules[module]))

    def _function(self, function: types.FunctionType) -> None:
        self._code(function.__code__)
        for path in _table_files(function):
            self.add(_file_facts(path))
        own = {k: v for k, v in vars(function).items() if k not in _SET_BY_TENSORFLOW}
        self.add((function.__defaults__, function.__kwdefaults__, own))
        for name, value in references(function):
            self._text(name)
            self.add(value)

    def _class(self, cls: type) -> None:
        if _of_library(cls):
            raise UnhashableError(f"the class {cls.__qualname__}, which is not found by its name")
        self._text(cls.__qualname__)
        self.add((type(cls), cls.__bases__))
        for name in sorted(set(vars(cls)) - _NOT_OF_CLASS):
            self._text(name)
            self.add(vars(cls)[name])

    def _code(self, code: types.CodeType) -> None:
        self._text(code.co_code)
        self._text(getattr(code, "co_exceptiontable", b""))
        arguments = code.co_argcount + code.co_kwonlyargcount
        self.add((code.co_names, code.co_varnames[:arguments], code.co_freevars, code.co_cellvars))
        self.add((code.co_argcount, code.co_posonlyargcount, code.co_flags))
        for constant in code.co_consts:
            self.add(constant)


def _table_files(function: types.FunctionType) -> list[str]:
    """Returns the files whose paths stand in code that makes a lookup table from a file.

    Other paths are left alone: what a function writes, such as a log, would change with each call.
    """
    code = function.__code__
    if "TextFileInitializer" not in code.co_names:
        return []
    named = dict(function.__globals__)
    cells = zip(code.co_freevars, function.__closure__ or (), strict=True)
    named |= {name: cell.cell_contents for name, cell in cells if cell != types.CellType()}
    # Of what it closes over, an inner function's share is handed on and not loaded.
    loads = ("LOAD_DEREF", "LOAD_GLOBAL")
    loaded = [s.argval for s in dis.get_instructions(code) if s.opname in loads]
    values = [*code.co_consts, *map(named.get, loaded), *(function.__defaults__ or ())]
    texts = sorted({value for value in values if isinstance(value, str) and value})
    return [text for text in texts if tf.io.gfile.exists(text) and not tf.io.gfile.isdir(text)]


def _file_facts(path: str) -> tuple[str, int, int]:
    stat = tf.io.gfile.stat(path)
    return path, stat.length, stat.mtime_nsec


def _text(path: Any) -> str:
    value = path.numpy() if hasattr(path, "numpy") else path
    return value.decode() if isinstance(value, bytes) else os.fspath(value)


def _initializer_facts(value: Any) -> list[Any]:
    """Returns what a TextFileInitializer does with its file, beside where it is."""
    names = (
        "_key_index",
        "_value_index",
        "_vocab_size",
        "_delimiter",
        "_key_dtype",
        "_value_dtype",
    )
    return [getattr(value, name, None) for name in names]


def _name(value: Any) -> tuple[str, str]:
    """Returns the module and the name that `value` gives as its own."""
    if isinstance(value, np.ufunc):
        return "numpy", value.__name__
    return getattr(value, "__module__", None) or "", getattr(value, "__qualname__", "")


def _of_library(value: Any) -> bool:
    module = sys.modules.get(_name(value)[0])
    return module is not None and is_library(module)


def _found_by_name(value: Any) -> bool:
    """Whether `value` is what an installed library has under the name that it gives."""
    module, name = _name(value)
    if not name or not _of_library(value):
        return False
    found: Any = sys.modules[module]
    for part in name.split("."):
        found = getattr(found, part, MISSING)
    return found is value
