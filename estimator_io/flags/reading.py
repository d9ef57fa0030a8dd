"""`from_flags`: the options that flags give, and how they meet those of the code."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from estimator_io.errors import OptionError
from estimator_io.flags.definition import asked_for, check_adopted, plain_flag_values
from estimator_io.flags.table import SERVICE, STORE, option_flags
from estimator_io.flags.values import spell

__all__ = ["changes", "from_flags", "given_words", "merged", "told"]


@dataclasses.dataclass(frozen=True, slots=True)
class _Flagged:
    """What the flags say.

    Attributes:
      given: by the command line, a flagfile or an assignment.
      fallback: by a default.
      words: the flags that were given, as they would be written.
    """

    given: dict[str, Any]
    fallback: dict[str, Any]
    words: tuple[str, ...]


def from_flags(flag_values: Any = None, prefix: str = "") -> dict[str, Any]:
    """Returns the options that flags give, as keyword arguments for the factories.

    Flags that were not parsed, as under pytest and in notebooks, have their defaults; nothing is
    parsed here.

    Args:
      flag_values: absl's FLAGS or tf.compat.v1.flags.FLAGS; None takes absl's.
      prefix: as given to `define`.

    Returns:
      The options that were given or have a default; others are left out.

    Raises:
      OptionError: `define` was not called, a value is impossible, or the program has defined a flag
        of the name otherwise since.
    """
    return merged({}, flag_values, prefix)


def merged(code: Mapping[str, Any], flag_values: Any = None, prefix: str = "") -> dict[str, Any]:
    """Returns the options of code and flags together.

    What the command line gives counts more than code, code more than the default of a flag.

    Raises:
      OptionError: as `from_flags`, or an option does not go with what the flags say.
    """
    flagged = _read(flag_values, prefix)
    options = {**flagged.fallback, **code, **flagged.given}
    try:
        _fill_in(options, prefix, "service", SERVICE)
        _fill_in(options, prefix, "cache", STORE)
    except OptionError as error:
        raise told(error, flagged.words) from error
    return options


def changes(options: Any, flag_values: Any = None, prefix: str = "") -> dict[str, Any]:
    """Returns the options that flags change in an `Options`.

    Raises:
      OptionError: as `merged`.
    """
    defaults = {field.name: field.default for field in dataclasses.fields(options)}
    own = {name: getattr(options, name) for name in option_flags() if name in defaults}
    code = {name: value for name, value in own.items() if value != defaults[name]}
    found = merged(code, flag_values, prefix)
    return {name: value for name, value in found.items() if value is not own[name]}


def told(error: OptionError, words: tuple[str, ...]) -> OptionError:
    """Returns an error that also says which flags were given."""
    return OptionError(f"{error} Flags given: {' '.join(words)}.") if words else error


def given_words(flag_values: Any = None, prefix: str = "") -> tuple[str, ...]:
    """Returns the flags that were given, as they would be written."""
    return _read(flag_values, prefix).words


def _read(flag_values: Any, prefix: str) -> _Flagged:
    holder = plain_flag_values(flag_values)
    asked = asked_for(holder, prefix)
    if not asked:
        given = f"prefix={prefix!r}" if prefix else ""
        raise OptionError(
            f"No flag is defined for input functions{f' under {given}' if given else ''}. Call"
            f" estimator_io.flags.define({given}) where the program defines its flags."
        )
    known = option_flags()
    flagged = _Flagged({}, {}, ())
    words = []
    for name, place in asked.items():
        if f"{prefix}{name}" not in holder:  # the program has taken it back
            continue
        flag = holder[f"{prefix}{name}"]
        check_adopted(holder, flag, known[name], place)
        if flag.value is None and flag.using_default_value:
            continue
        try:
            value = known[name].value.parse(flag.value)
        except OptionError as error:
            raise OptionError(f"--{flag.name}={spell(flag.value)}: {error}") from error
        (flagged.fallback if flag.using_default_value else flagged.given)[name] = value
        if not flag.using_default_value:
            words.append(f"--{flag.name}={spell(value)}")
    return dataclasses.replace(flagged, words=tuple(words))


def _fill_in(
    options: dict[str, Any], prefix: str, owner: str, arguments: Mapping[str, str]
) -> None:
    """Makes a Service or a Store of an address or a folder and what goes with it."""
    parts = {name: options.pop(name) for name in arguments if name in options}
    parts = {name: value for name, value in parts.items() if value is not None}
    if not parts:
        return
    base, first = options.get(owner), f"--{prefix}{next(iter(parts))}"
    if base is None or base == "memory":
        raise OptionError(
            f"{first} was given, but {'no' if base is None else 'a memory'} {owner}. Give"
            f" --{prefix}{owner}={'FOLDER' if owner == 'cache' else 'grpc://host:port'} too, or"
            f" leave {first} out."
        )
    changes = {arguments[name]: value for name, value in parts.items()}
    options[owner] = _service(base, changes) if owner == "service" else _store(base, changes)


def _service(base: Any, changes: Mapping[str, Any]) -> Any:
    from estimator_io.service.settings import as_service

    return dataclasses.replace(as_service(base), **changes)


def _store(base: Any, changes: Mapping[str, Any]) -> Any:
    from estimator_io.store.store import Store

    if not isinstance(base, Store):
        return Store(base, **changes)
    names = ("size_limit", "verify_contents", "writer_share")
    return Store(base.folder, **{**{name: getattr(base, name) for name in names}, **changes})
