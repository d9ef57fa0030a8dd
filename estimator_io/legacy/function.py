"""A legacy input function: what it asks for, how it is called, and where it stands."""

from __future__ import annotations

import dataclasses
import functools
import inspect
import os
import re
import sysconfig
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from estimator_io.errors import ModeError, OptionError, SourceError

__all__ = ["LegacyFunction", "one_line"]

# What the Estimator has to give, as far as a function names it.
_GIVEN = ("mode", "params", "config", "input_context")


@dataclasses.dataclass(frozen=True)
class LegacyFunction:
    """What an Estimator may be handed as input_fn.

    Attributes:
      function: a function, lambda, partial, bound method or object with `__call__`.

    Raises:
      OptionError: it cannot be called, or needs an argument that no Estimator gives.
    """

    function: Callable[..., Any]

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise OptionError(
                f"accelerate() takes an input_fn. Received: {_kind(self.function)}. Expected: the"
                " function that is handed to TrainSpec, EvalSpec or Estimator.train; not what it"
                " returns."
            )
        needed = [
            name
            for name, parameter in self._parameters().items()
            if _required(parameter) and name not in _GIVEN
        ]
        if needed:
            raise OptionError(
                f"{self.place}: the input_fn needs {', '.join(needed)}, which no Estimator gives."
                f" Received: a function of ({', '.join(self._parameters())}). Expected: parameters"
                f" among {', '.join(_GIVEN)}. Fix the others:"
                f" functools.partial({self.name}, {', '.join(f'{name}=…' for name in needed)})."
            )

    @property
    def name(self) -> str:
        """The function's own name, without what a partial has fixed."""
        plain = _plain(self.function)
        return getattr(plain, "__qualname__", type(plain).__name__).replace("<locals>.", "")

    @property
    def place(self) -> str:
        """The file and the line that the function stands at, as file:line."""
        plain = _plain(self.function)
        code = getattr(inspect.unwrap(plain), "__code__", None)
        if code is None:
            called = type(plain).__dict__.get("__call__")
            code = getattr(called, "__code__", None)
        return self.name if code is None else f"{code.co_filename}:{code.co_firstlineno}"

    @property
    def takes(self) -> tuple[str, ...]:
        """What the function is given of mode, params, config and input_context."""
        parameters = self._parameters()
        return tuple(name for name in _GIVEN if name in parameters)

    def call(self, given: Mapping[str, Any]) -> Any:
        """Returns what the function returns.

        Args:
          given: mode, params, config and input_context; None where the caller gave none.

        Raises:
          ModeError: it needs one of them that the caller did not give.
          SourceError: it raised, with the place and its own error as the cause.
        """
        return self._run(self._arguments(given))

    def _arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        arguments = {}
        for name in self.takes:
            if given.get(name) is not None:
                arguments[name] = given[name]
            elif _required(self._parameters()[name]):
                raise ModeError(
                    f"{self.place}: the input_fn needs {name}, but was called without one."
                    " Expected: that the accelerated function itself is handed to the Estimator,"
                    f" not a lambda around it; else give it by hand: fn({name}=…)."
                )
        return arguments

    def _run(self, arguments: dict[str, Any]) -> Any:
        try:
            return self.function(**arguments)
        except Exception as error:
            raise SourceError(
                f"{self.place}: the input_fn {self.name} raised {type(error).__name__}:"
                f" {one_line(error).rstrip('.')}{_raised_at(error)}. Call it by itself to see the"
                " whole traceback."
            ) from error

    def _parameters(self) -> dict[str, inspect.Parameter]:
        """Returns the parameters that the Estimator sees: those without * that are not fixed."""
        try:
            parameters = inspect.signature(self.function).parameters
        except (TypeError, ValueError):
            return {}
        fixed = set(_fixed(self.function))
        return {
            name: parameter
            for name, parameter in parameters.items()
            if parameter.kind not in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD)
            and name not in fixed
            # The Estimator gives nothing to keyword-only parameters, which then keep defaults.
            and not (parameter.kind is parameter.KEYWORD_ONLY and not _required(parameter))
        }


def one_line(error: BaseException) -> str:
    """Returns the line of an error that says what is wrong."""
    text = str(error).strip()
    # What AutoGraph makes of an error: lines of the program, and then the error itself.
    told = re.findall(r"^ {4}[A-Za-z_][\w.]*: (.*)$", text, re.MULTILINE)
    if text.startswith("in user code") and told:
        return told[-1].strip()
    return (text.splitlines() or [""])[0].strip()


def _raised_at(error: BaseException) -> str:
    """Returns the last line of the program that an error passed through, as " (file:line)"."""
    found = [(at.filename, at.lineno or 0) for at in traceback.extract_tb(error.__traceback__)]
    if str(error).startswith("in user code"):
        lines = re.findall(r'^ {4}File "(.+)", line (\d+), in ', str(error), re.MULTILINE)
        found += [(name, int(line)) for name, line in lines]
    own = [at for at in found if at[0][0] != "<" and not at[0].startswith(_libraries())]
    own = [at for at in own if "__autograph_generated_file" not in at[0]]
    return f" ({own[-1][0]}:{own[-1][1]})" if own else ""


@functools.cache
def _libraries() -> tuple[str, ...]:
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    own = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return tuple(os.path.join(path, "") for path in (own, *map(sysconfig.get_path, names)))


def _required(parameter: inspect.Parameter) -> bool:
    return parameter.default is parameter.empty


def _fixed(function: Any) -> Mapping[str, Any]:
    return function.keywords if isinstance(function, functools.partial) else {}


def _plain(function: Any) -> Any:
    while isinstance(function, functools.partial):
        function = function.func
    return function


def _kind(value: Any) -> str:
    return type(value).__name__
