"""What the text of a flag may be: one parser for each kind of option. Imports no TensorFlow."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from absl.flags import ArgumentParser

from estimator_io.errors import OptionError
from estimator_io.pipeline import option_checks as checks
from estimator_io.pipeline.memory_limit import parse_bytes
from estimator_io.pipeline.shards import checked_shard

__all__ = [
    "Value",
    "address",
    "amount",
    "choice",
    "device",
    "folder",
    "numbers",
    "per_stage",
    "seconds",
    "shard",
    "share",
    "shuffle",
    "spell",
    "text",
    "whole",
    "yes_no",
]

_TRUE, _FALSE = ("true", "t", "1", "yes", "y"), ("false", "f", "0", "no", "n")
_SECONDS = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*(ms|s|m|h)?\s*")
_IN_SECONDS = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "h": 3600.0}
# What a flag may say for None, the value of an option that is left to the machine.
_NONE = ("none", "")
_AUTO = ("auto", *_NONE)


class Value(ArgumentParser[Any]):
    """Parses and checks the text of one flag.

    Attributes:
      kind: what the value is, in one or two words.
      adopts: the absl types of a program's own flag that can stand for this one.
      none: the texts that mean None; empty where the option has no None.
      syntactic_help: what may be written, for --help.

    Args:
      name: of the option, for error messages.
      convert: makes the option's value of a text or of a value, or raises OptionError.
    """

    def __init__(
        self,
        name: str,
        kind: str,
        convert: Callable[[str, Any], Any],
        *,
        adopts: tuple[str, ...] = ("string",),
        none: tuple[str, ...] = (),
        help: str = "",
    ) -> None:
        self.kind, self.adopts, self.none = kind, adopts, none
        self.syntactic_help = help or kind
        self._name, self._convert = name, convert

    def parse(self, argument: Any) -> Any:
        """Returns the value of the option.

        Raises:
          OptionError: it is none; absl shows it as an error of the flag.
        """
        is_none = argument is None or (
            isinstance(argument, str) and argument.strip().lower() in self.none
        )
        if self.none and is_none:
            return None
        return self._convert(self._name, argument)

    def flag_type(self) -> str:
        """Returns the kind, for absl's XML help."""
        return self.kind


def spell(value: Any) -> str:
    """Returns the text that a flag would be given for a value."""
    if value is None:
        return "none"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ",".join(f"{key}={item}" for key, item in value.items())
    if isinstance(value, (tuple, list)):
        return ",".join(map(str, value))
    return str(value)


def whole(name: str, least: int, *, none: bool = True) -> Value:
    """Returns a parser of whole numbers of at least `least`."""

    def convert(name: str, given: Any) -> int:
        number = _number(given)
        if number is None:
            raise OptionError(
                f"{name} must be a whole number of at least {least}. Received: {given!r}."
            )
        checks.check_whole_number(name, number, least)
        return number

    help = f"a whole number of at least {least}{', or none' if none else ''}"
    return Value(name, "int", convert, adopts=("int",), none=_AUTO if none else (), help=help)


def yes_no(name: str) -> Value:
    """Returns a parser of true and false."""
    return Value(name, "bool", _boolean, adopts=("bool",), help="true or false")


def choice(name: str, *known: str) -> Value:
    """Returns a parser of one of a few words."""

    def convert(name: str, given: Any) -> str:
        if given not in known:
            raise OptionError(f"{name}. Received: {given!r}. Expected: {' or '.join(known)}.")
        return given

    return Value(name, "choice", convert, adopts=("string", "string enum"), help=" or ".join(known))


def text(name: str, *, none: bool = True) -> Value:
    """Returns a parser of plain text."""

    def convert(name: str, given: Any) -> str:
        if not isinstance(given, str) or not given:
            raise OptionError(f"{name} must be a text. Received: {given!r}.")
        return given

    return Value(name, "string", convert, none=_NONE if none else (), help="a text")


def amount(name: str) -> Value:
    """Returns a parser of an amount of memory, in bytes."""
    return Value(
        name,
        "bytes",
        lambda name, given: parse_bytes(name, given),
        adopts=("string", "int"),
        none=_AUTO,
        help="bytes, such as 512MB or 2GiB",
    )


def seconds(name: str) -> Value:
    """Returns a parser of a time, in seconds."""

    def convert(name: str, given: Any) -> float:
        match = _SECONDS.fullmatch(str(given))
        found = float(match[1]) * _IN_SECONDS[match[2]] if match else 0.0
        if found <= 0:
            raise OptionError(
                f"{name} must be a time above 0. Received: {given!r}. Expected: seconds, or a text"
                " such as 30s, 500ms, 2m or 1h."
            )
        return found

    return Value(
        name, "seconds", convert, adopts=("string", "int", "float"), help="such as 30s or 500ms"
    )


def share(name: str) -> Value:
    """Returns a parser of a part above 0 and of at most 1."""

    def convert(name: str, given: Any) -> float:
        try:
            found = float(given)
        except (TypeError, ValueError):
            found = 0.0
        if not 0 < found <= 1:
            raise OptionError(f"{name} must be above 0 and at most 1. Received: {given!r}.")
        return found

    return Value(name, "share", convert, adopts=("float",), help="above 0, at most 1")


def shuffle(name: str) -> Value:
    """Returns a parser of true, false, rows of a buffer, or its bytes."""

    def convert(name: str, given: Any) -> bool | int | str:
        del name
        if isinstance(given, bool) or str(given).lower() in ("true", "false", "yes", "no"):
            return _boolean("shuffle", given)
        number = _number(given)
        found = given if number is None else number
        checks.check_shuffle(found)
        return found

    return Value(
        name,
        "shuffle",
        convert,
        adopts=("bool", "int", "string"),
        none=_NONE,
        help="true, false, rows of the buffer, or its bytes, such as 256MB",
    )


def per_stage(name: str, stages: tuple[str, ...]) -> Value:
    """Returns a parser of one number for all stages, or of stage=number by commas."""

    def convert(name: str, given: Any) -> Any:
        received = given
        if isinstance(given, str) and "=" in given:
            pairs = [part.partition("=") for part in given.split(",")]
            given = {stage.strip(): _number(number) for stage, _, number in pairs}
        items = given.items() if isinstance(given, dict) else [("", given)]
        found = {stage: _number(number) for stage, number in items}
        for stage, number in found.items():
            if (stage and stage not in stages) or number is None:
                raise OptionError(
                    f"{name} has an unknown form. Received: {spell(received)!r}. Expected: a whole"
                    f" number of at least 1, or stage=number by commas, of {', '.join(stages)}."
                )
            checks.check_whole_number(f"{name} of {stage}" if stage else name, number, 1)
        return found if isinstance(given, dict) else found[""]

    return Value(
        name,
        "int by stage",
        convert,
        adopts=("int", "string"),
        none=_AUTO,
        help=f"such as 8, or {stages[-1]}=8,{stages[0]}=2",
    )


def numbers(name: str) -> Value:
    """Returns a parser of whole numbers by commas."""

    def convert(name: str, given: Any) -> tuple[int, ...]:
        items = given.split(",") if isinstance(given, str) else given
        found = [_number(item) for item in items] if isinstance(items, (list, tuple)) else [None]
        if None in found:
            raise OptionError(f"{name} must be whole numbers by commas. Received: {given!r}.")
        return checks.checked_numbers(name, found)

    adopts = ("string", "comma separated list of strings")
    return Value(name, "ints", convert, adopts=adopts, none=_NONE, help="such as 100,200,400")


def shard(name: str) -> Value:
    """Returns a parser of index/count, or tf_config."""

    def convert(name: str, given: Any) -> Any:
        del name
        pair = re.split("[/,]", given) if isinstance(given, str) else given
        whole = [_number(item) for item in pair] if isinstance(pair, (list, tuple)) else [None]
        if None in whole:
            return checked_shard(given)  # tf_config, or an error
        return checked_shard(tuple(whole))

    return Value(name, "shard", convert, none=_NONE, help="such as 0/4, or tf_config")


def folder(name: str) -> Value:
    """Returns a parser of the place of a cache."""

    def convert(name: str, given: Any) -> Any:
        del name
        return checks.checked_cache(given)

    return Value(name, "string", convert, none=_NONE, help="memory, a folder, or none")


def device(name: str) -> Value:
    """Returns a parser of the name of a device."""

    def convert(name: str, given: Any) -> Any:
        del name
        checks.check_device(given)
        return given

    return Value(name, "string", convert, none=_NONE, help="auto, a device such as /gpu:0, or none")


def address(name: str) -> Value:
    """Returns a parser of the address of a service."""
    from estimator_io.service.settings import Service

    def convert(name: str, given: Any) -> Any:
        del name
        if isinstance(given, str):
            Service(given)  # refuses what is no address
            return given
        raise OptionError(f"service is no address. Received: {given!r}.")

    return Value(name, "string", convert, none=_NONE, help="local, grpc://host:port, or none")


def _boolean(name: str, given: Any) -> bool:
    word = str(given).strip().lower()
    if word in _TRUE or word in _FALSE:
        return word in _TRUE
    raise OptionError(f"{name} must be true or false. Received: {given!r}.")


def _number(given: Any) -> int | None:
    """Returns a whole number, None where it is none."""
    if isinstance(given, str) and re.fullmatch(r"\s*[+-]?\d[\d_]*\s*", given):
        return int(given)
    if hasattr(given, "__index__") and not isinstance(given, bool):
        return int(given)
    return None
