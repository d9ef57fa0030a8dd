"""Flags of a program that absl refused: an impossible or unknown one, or one defined twice."""

from __future__ import annotations

import traceback

from estimator_io.runner.places import error_place

__all__ = ["ended_by_absl", "refused_flags", "spell_flag_error"]


def refused_flags() -> tuple[type[Exception], ...]:
    """Returns what absl raises over a command line, or over a flag that is defined twice."""
    from absl import flags

    # An access before parsing is a fault of the program's own lines, and keeps its traceback.
    return (
        flags.CantOpenFlagFileError,
        flags.DuplicateFlagError,
        flags.IllegalFlagValueError,
        flags.UnrecognizedFlagError,
        flags.ValidationError,
    )


def ended_by_absl(error: SystemExit) -> bool:
    """Whether `absl.app.run` has printed what it refused of the command line, and exits."""
    frames = traceback.extract_tb(error.__traceback__)
    by_absl = error.code == 1 and bool(frames) and "absl" in frames[-1].filename
    return by_absl and isinstance(error.__context__, refused_flags())


def spell_flag_error(error: BaseException) -> str:
    """Returns what was refused in one line, with the line of the program that asked for it."""
    place = error_place(error)
    text = " ".join(str(error).split())
    remedy = (
        "Rename one of the two, or define it in one module that both import."
        if type(error).__name__ == "DuplicateFlagError"
        else "Give another value, or see --helpfull behind the program's name."
    )
    return f"{f'{place}: ' if place else ''}{text.rstrip('.')}. {remedy}"
