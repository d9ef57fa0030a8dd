"""`define`: the flags, defined once whoever asks, beside those that a program has already."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Collection, Mapping
from typing import Any

from absl import flags as absl_flags

from estimator_io.errors import OptionError
from estimator_io.flags.table import OptionFlag, option_flags
from estimator_io.flags.values import spell
from estimator_io.runner.places import caller_place, spell_place

__all__ = ["asked_for", "check_adopted", "define", "plain_flag_values"]

MODULE = "estimator_io.flags"
_RECORD = "__estimator_io_flags"


class _Serializer(absl_flags.ArgumentSerializer[Any]):
    """Writes values as flags take them."""

    def serialize(self, value: Any) -> str:
        return spell(value)


class _Flag(absl_flags.Flag[Any]):
    """A flag of ours. A program that defines the same name later takes its place."""

    defined_at = ""

    def _serialize(self, value: Any) -> str:
        # absl would write a flag that may be given alone as --name, whatever its value.
        return "" if value is None else f"--{self.name}={spell(value)}"


def define(
    prefix: str = "",
    defaults: Mapping[str, Any] | None = None,
    *,
    names: Collection[str] | None = None,
    flag_values: Any = None,
) -> None:
    """Defines the options of input functions as absl flags.

    Call it where a program defines its own flags. It may be called by any number of modules, any
    number of times. A flag that the program defines itself, before or after, is adopted where it is
    of the same type: its value, and its default, count.

    Args:
      prefix: what the names begin with, such as "train_".
      defaults: options and their values where the command line gives none; code that gives the
        option counts more.
      names: the options to define; None defines all of them.
      flag_values: where to define them; None takes absl's FLAGS.

    Raises:
      OptionError: there is no such option, a default is impossible, or the program has a flag of
        the name that is of another type; the message names both places.

    Example:
      >>> from absl import flags as absl_flags
      >>> import estimator_io.flags
      >>> values = absl_flags.FlagValues()
      >>> estimator_io.flags.define(defaults={"batch_size": 32}, flag_values=values)
      >>> _ = values(["train.py", "--cache=memory", "--epochs=2"])
      >>> estimator_io.flags.from_flags(values)
      {'batch_size': 32, 'epochs': 2, 'cache': 'memory'}
    """
    holder = plain_flag_values(flag_values)
    known, place = option_flags(), caller_place()
    defaults = dict(defaults or {})
    for name in (*(names or ()), *defaults):
        if name not in known:
            raise OptionError(
                f"No flag stands for {name!r}. Expected: one of {', '.join(sorted(known))};"
                " functions are given in code."
            )
    if not re.fullmatch(r"\w*", prefix):
        raise OptionError(f"prefix must be letters, digits and _. Received: {prefix!r}.")
    chosen = known if names is None else {*names, *defaults}
    for name, option in known.items():
        if name in chosen:
            _define_one(holder, prefix, option, defaults.get(name), place)


def asked_for(flag_values: Any, prefix: str) -> dict[str, str]:
    """Returns the options that `define` was asked for under a prefix, and where."""
    record = vars(flag_values).get(_RECORD, {})
    return {name: place for (asked, name), place in record.items() if asked == prefix}


def plain_flag_values(flag_values: Any) -> Any:
    """Returns absl's own FlagValues; tf.compat.v1.flags.FLAGS would parse sys.argv when asked."""
    if flag_values is None:
        return absl_flags.FLAGS
    return vars(flag_values).get("__wrapped", flag_values)


def check_adopted(flag_values: Any, flag: Any, option: OptionFlag, place: str) -> None:
    """Checks that a flag of the program can stand for one of ours.

    Raises:
      OptionError: it is of another type.
    """
    if _is_ours(flag) or flag.flag_type() in option.value.adopts:
        return
    raise OptionError(
        f"Two flags are called --{flag.name}: {_definition_place(flag_values, flag.name)} defines"
        f" it as {flag.flag_type()}, and estimator_io.flags.define at {place} needs"
        f" {option.value.syntactic_help}. Give define(prefix='input_') for other names, name"
        " the options you want with names=…, or rename the program's flag."
    )


def _define_one(holder: Any, prefix: str, option: OptionFlag, default: Any, place: str) -> None:
    name = f"{prefix}{option.name}"
    there = holder[name] if name in holder else None  # noqa: SIM401 (FlagValues has no get)
    if there is not None and not _is_ours(there):
        check_adopted(holder, there, option, place)
    elif there is not None:
        _keep(there, option, default, place)
    else:
        flag = _new_flag(name, option, default)
        flag.defined_at = place
        absl_flags.DEFINE_flag(flag, holder, module_name=MODULE)
        # --help shows the flags of the main module, --helpfull has ours in a group of their own.
        holder.register_key_flag_for_module(sys.argv[0] if sys.argv else "", flag)
    vars(holder).setdefault(_RECORD, {})[(prefix, option.name)] = place


def _new_flag(name: str, option: OptionFlag, default: Any) -> _Flag:
    try:
        return _Flag(
            option.value,
            _Serializer(),
            name,
            default,
            option.help,
            boolean=option.boolean,
            allow_override=True,
        )
    except absl_flags.IllegalFlagValueError as error:
        raise OptionError(f"The default of {error}") from error


def _keep(flag: Any, option: OptionFlag, default: Any, place: str) -> None:
    """Leaves a flag of ours as it is, or gives it the default that it lacks."""
    if default is None:
        return
    value = option.value.parse(default)
    if flag.default is None:
        flag._set_default(value)
        flag.defined_at = place
    elif flag.default != value:
        raise OptionError(
            f"Two defaults are given for --{flag.name}: {spell(flag.default)} at {flag.defined_at},"
            f" and {spell(value)} at {place}. Give one of them, or a prefix to one of them."
        )


def _is_ours(flag: Any) -> bool:
    return hasattr(flag, "defined_at")  # also where this module was loaded twice


def _definition_place(flag_values: Any, name: str) -> str:
    """Returns the file, and where it can be seen the line, that defines a flag."""
    module = flag_values.find_module_defining_flag(name) or "the program"
    path = getattr(sys.modules.get(module), "__file__", None) or module
    where = spell_place(path) if os.path.isfile(path) else path
    definition = re.compile(rf"DEFINE\w*\(\s*(?:name\s*=\s*)?['\"]{re.escape(name)}['\"]")
    try:
        with open(path, encoding="utf-8") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError):
        return where
    found = definition.search(text)
    return spell_place(path, text.count("\n", 0, found.start()) + 1) if found else where
