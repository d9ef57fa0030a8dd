"""A plan as a program in plain tf.data, so that nobody is locked in.

Library functions are printed with their source, functions of the user are imported where they can
be, and everything else becomes an argument of the printed `make_dataset`.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import math
import pprint
import re
import sys
import textwrap
import types
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.plan.calls import Call, Deferred, Late, Named, Plan, is_namedtuple

__all__ = ["print_plan"]

_OWN = ("estimator_io.ops.", "estimator_io.sources.listing")
_MODULE_NAMES = {"numpy": "np", "tensorflow": "tf"}


def print_plan(plan: Plan, *, mode: str) -> str:
    """Returns a Python program whose `make_dataset(…)` builds what `plan.build()` builds.

    Args:
      plan: the calls to print.
      mode: the mode they were planned for, for the printed docstring.
    """
    printer = _Printer()
    lines = [printer.call(call, first=at == 0) for at, call in enumerate(plan.calls)]
    arguments = ", ".join(f"{name}" for name in printer.arguments)
    body = [f'"""The pipeline for mode {mode!r}."""', *printer.assignments, *lines]
    function = [
        f"def make_dataset({arguments}):",
        *(textwrap.indent(line, "    ") for line in [*body, "return dataset"]),
    ]
    parts = [
        "\n".join(sorted(printer.imports, key=_import_order)),
        "\n".join(f"{name} = {value!r}" for name, value in printer.constants.items()),
        *printer.sources.values(),
        "\n".join(function),
    ]
    return "\n\n\n".join(part for part in parts if part) + "\n"


def _import_order(line: str) -> tuple[bool, str]:
    third_party = any(name in line for name in (*_MODULE_NAMES, "estimator"))
    return (third_party, line)


class _Printer:
    """Collects what the program needs while its calls are printed."""

    def __init__(self) -> None:
        self.imports: set[str] = {"import tensorflow as tf"}
        self.constants: dict[str, Any] = {}
        self.sources: dict[str, str] = {}
        self.assignments: list[str] = []
        self.arguments: dict[str, Any] = {}
        self._names: dict[int, str] = {}
        self._stage = ""

    def call(self, call: Call, *, first: bool) -> str:
        """Returns one call as an assignment to `dataset`."""
        self._stage = call.stage
        return "dataset = " + self._call(call, "tf.data.Dataset" if first else "dataset")

    def _call(self, call: Call, owner: str) -> str:
        arguments = [self.value(argument) for argument in call.args]
        arguments += [f"{name}={self.value(value)}" for name, value in call.kwargs.items()]
        function = f"{owner}.{call.method}"
        if not isinstance(call.method, str):
            function = self.value(call.method)
        return _laid_out(function, arguments)

    def value(self, value: Any) -> str:
        """Returns an expression for `value`, noting what it needs."""
        if isinstance(value, Named):
            return self._named(value)
        if isinstance(value, Deferred):
            return self.value(value.printed)
        if isinstance(value, Late):
            return self.value(value.make())
        if isinstance(value, Plan):
            return functools.reduce(
                lambda owner, call: self._call(call, owner), value.calls, "tf.data.Dataset"
            )
        if isinstance(value, functools.partial):
            return self._partial(value)
        if isinstance(value, float) and not math.isfinite(value):
            return f"float({str(value)!r})"
        if isinstance(value, bool) or value is None or isinstance(value, (str, bytes, float)):
            return repr(value)
        if isinstance(value, int):
            return "tf.data.AUTOTUNE" if value == tf.data.AUTOTUNE else repr(value)
        if isinstance(value, tf.DType):
            return f"tf.{value.name}"
        if isinstance(value, Mapping):
            items = [f"{self.value(key)}: {self.value(item)}" for key, item in value.items()]
            return _laid_out("", items, "{}")
        if type(value) in (list, tuple):
            return self._sequence(value)
        if isinstance(value, types.FunctionType):
            return self._function(value)
        if is_namedtuple(value):
            kind: Any = type(value)
            name = (
                self._imported(kind) if _importable(kind) else self._argument(kind, kind.__name__)
            )
            return _laid_out(name, [self.value(item) for item in value])
        return self._other(value)

    def _sequence(self, value: Any) -> str:
        items = [self.value(item) for item in value]
        if isinstance(value, list):
            return "[" + ", ".join(items) + "]"
        return "(" + ", ".join(items) + ("," if len(items) == 1 else "") + ")"

    def _named(self, value: Named) -> str:
        known = self._names.get(id(value))
        if known is not None:
            return known
        name = self._free_name(value.name)
        self._names[id(value)] = name
        if value.recipe is not None:
            recipe = value.recipe
            call = Call("", recipe.func, recipe.args, recipe.keywords)
            self.assignments.append(f"{name} = " + self._call(call, ""))
        elif isinstance(value.value, (list, tuple)) and _is_short(value.value):
            self.assignments.append(f"{name} = {pprint.pformat(list(value.value), compact=True)}")
        else:
            self.arguments[name] = value.value
        return name

    def _partial(self, value: functools.partial) -> str:
        self.imports.add("import functools")
        parts = [self.value(value.func), *(self.value(argument) for argument in value.args)]
        parts += [f"{name}={self.value(item)}" for name, item in value.keywords.items()]
        return _laid_out("functools.partial", parts)

    def _function(self, function: types.FunctionType) -> str:
        plain = inspect.unwrap(function)
        if (plain.__module__ or "").startswith(_OWN):
            return self._own_function(plain)
        if _importable(function):
            return self._imported(function)
        return self._argument(function, function.__name__)

    def _imported(self, function: types.FunctionType) -> str:
        name = self._names.get(id(function))
        if name is None:
            name = self._free_name(function.__qualname__)
            self._names[id(function)] = name
            alias = "" if name == function.__qualname__ else f" as {name}"
            line = f"from {function.__module__} import {function.__qualname__}{alias}"
            self.imports.add(line)
        return name

    def _own_function(self, function: types.FunctionType) -> str:
        name = function.__name__
        if name not in self.sources:
            self.sources[name] = ""  # reserves the name, should the function call itself
            needed = self._needs(function)
            del self.sources[name]
            self.sources |= needed
            text = textwrap.dedent(inspect.getsource(function)).rstrip()
            # What a type checker of this package must be told is nobody's business there.
            self.sources[name] = re.sub(r"  # pyright: ignore\[[^\n]*", "", text)
        return name

    def _needs(self, function: types.FunctionType) -> dict[str, str]:
        for name in sorted(_names_in(function.__code__)):
            value = function.__globals__.get(name)
            if isinstance(value, types.ModuleType):
                alias = "" if value.__name__ == name else f" as {name}"
                self.imports.add(f"import {value.__name__}{alias}")
            elif callable(value) and hasattr(value, "__code__"):
                self._function(value)
            elif isinstance(value, (int, float, str, bytes)):
                self.constants[name] = value
        return {}

    def _other(self, value: Any) -> str:
        if _is_spec(value):
            return _spec_text(value, self)
        if isinstance(value, np.generic):
            return repr(value.item())
        return self._argument(value, getattr(value, "__name__", type(value).__name__.lower()))

    def _argument(self, value: Any, name: str) -> str:
        known = self._names.get(id(value))
        if known is None:
            known = self._free_name(self._stage if name == "<lambda>" else name)
            self._names[id(value)] = known
            self.arguments[known] = value
        return known

    def _free_name(self, wanted: str) -> str:
        name = wanted if wanted.isidentifier() else "value"
        taken = {*self._names.values(), *_own_names(), "dataset", "make_dataset", "tf", "np"}
        number = 2
        while name in taken:
            name = f"{wanted}_{number}"
            number += 1
        return name


def _own_names() -> set[str]:
    """Returns the names of all functions that may be printed with their source."""
    modules = [module for name, module in sys.modules.items() if name.startswith(_OWN)]
    return {name for module in modules for name, value in vars(module).items() if callable(value)}


def _laid_out(function: str, arguments: list[str], brackets: str = "()") -> str:
    """Returns a call or a dict, one argument a line where it does not fit on one."""
    opening, closing = brackets
    line = f"{function}{opening}{', '.join(arguments)}{closing}"
    if len(line) <= 80 and "\n" not in line:
        return line
    inside = "".join(textwrap.indent(argument, "    ") + ",\n" for argument in arguments)
    return f"{function}{opening}\n{inside}{closing}"


def _names_in(code: types.CodeType) -> set[str]:
    names = set(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            names |= _names_in(constant)
    return names


def _importable(function: types.FunctionType) -> bool:
    if function.__module__ in (None, "__main__") or "." in function.__qualname__:
        return False
    try:
        module = sys.modules.get(function.__module__) or importlib.import_module(
            function.__module__
        )
    except ImportError:
        return False
    return getattr(module, function.__qualname__, None) is function


def _is_short(values: Any) -> bool:
    return len(values) <= 100 and all(isinstance(v, (int, float, str, bytes)) for v in values)


def _is_spec(value: Any) -> bool:
    return isinstance(value, tuple) and type(value).__module__.startswith("tensorflow")


def _spec_text(value: Any, printer: _Printer) -> str:
    """Returns a feature spec, such as tf.io.FixedLenFeature, as the call that makes it."""
    fields = ", ".join(f"{name}={printer.value(getattr(value, name))}" for name in value._fields)
    name = type(value).__name__
    # The partitions of a RaggedFeature are classes inside it, which their names do not show.
    inside = "RaggedFeature." if hasattr(tf.io.RaggedFeature, name) else ""
    return f"tf.io.{inside}{name}({fields})"
