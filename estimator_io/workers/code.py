"""A function as bytes that another process can load: the program's own code goes by value.

Functions and classes of installed libraries are sent by name. Those of the program itself, of its
main script, of the modules beside it and of what was defined inside a function, are sent with their
code and the values that they refer to now: a worker does not import the program's modules for them,
and so neither runs them again nor loads TensorFlow because they do.
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import io
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any, cast

import cloudpickle

from estimator_io.errors import OptionError
from estimator_io.plan.references import is_library

__all__ = ["as_bytes"]

_OWN = "estimator_io"
_NO_FILE = "<dynamic-code>"


def as_bytes(function: Callable[..., Any], stage: str) -> bytes:
    """Returns `function` with all that it refers to, for pickle.loads in a worker.

    Raises:
      OptionError: it refers to something that cannot leave this process.
    """
    buffer = io.BytesIO()
    try:
        _Pickler(buffer).dump(function)
    except Exception as error:  # objects that are met run their own code to be pickled
        raise OptionError(
            f"{stage} cannot be sent to worker processes: {error} ({type(error).__name__})."
            f" Received: {getattr(function, '__qualname__', function)!r}. Expected: a function that"
            " refers to plain values, functions and classes. Open files, locks, sessions and the"
            " like inside the function, not outside of it."
        ) from error
    return buffer.getvalue()


class _Pickler(cloudpickle.Pickler):
    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, types.CodeType):
            # cloudpickle drops the file's name, without which a traceback shows no lines.
            make, values, *_ = cast(tuple[Any, ...], self.dispatch_table[types.CodeType](obj))
            return make, tuple(obj.co_filename if v == _NO_FILE else v for v in values)
        with _by_value(obj):
            return super().reducer_override(obj)


@contextlib.contextmanager
def _by_value(value: Any) -> Iterator[None]:
    """Has cloudpickle send `value` with its code, where a worker should not import its module."""
    module = _module_to_copy(value)
    if module is None or module.__name__ in cloudpickle.list_registry_pickle_by_value():
        yield
        return
    cloudpickle.register_pickle_by_value(module)
    try:
        yield
    finally:
        cloudpickle.unregister_pickle_by_value(module)


def _module_to_copy(value: Any) -> types.ModuleType | None:
    if isinstance(value, types.ModuleType):
        # A module used as a value is imported by the worker where it can be.
        return None if value.__name__ == "__main__" or _can_be_found(value) else value
    if not isinstance(value, (types.FunctionType, type)):
        return None
    module = sys.modules.get(value.__module__ or "")
    if module is None or module.__name__ == "__main__":
        return None  # cloudpickle sends these by value as it is
    if module.__name__.split(".")[0] == _OWN or is_library(module):
        return None
    return module


def _can_be_found(module: types.ModuleType) -> bool:
    """Whether a process with the same sys.path finds `module` by its name."""
    top = module.__name__.split(".")[0]
    if top in sys.builtin_module_names or is_library(module):
        return True
    return importlib.machinery.PathFinder.find_spec(top) is not None
