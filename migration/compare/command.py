"""`python -m migration.compare MODULE:NAME`: a comparison whose exit code a CI job can read."""

from __future__ import annotations

import argparse
import importlib
import inspect
import os
import sys
import traceback
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from estimator_io.errors import EstimatorIOError, OptionError

if TYPE_CHECKING:
    from migration.compare.result import Comparison

__all__ = ["EQUAL", "FAILED", "main"]

EQUAL, FAILED = 0, 2

_DESCRIPTION = """Compares an Estimator with a Keras model on the same batches.

MODULE:NAME is a function without arguments that returns (estimator, model, input_fn), or a dict of
the arguments of migration.compare. Exit code: 0 equal, 1 different, 2 could not run."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs the command.

    Args:
      arguments: of the command line; those of this process if None.

    Returns:
      0 where both are equal, 1 where they differ, 2 where it could not run.
    """
    options = _parser().parse_args(arguments)
    try:
        for file in (options.json, options.picture):
            _require_folder(file)
        found = _compare(options)
        print(found.text())
        if options.json:
            found.save_json(options.json)
        if options.picture:
            found.save_picture(options.picture)
    except EstimatorIOError as error:
        print(f"could not compare: {error}", file=sys.stderr)
        return FAILED
    except Exception:  # whatever a user's function or model raises; its place is what helps
        traceback.print_exc()
        return FAILED
    return found.exit_code


def _compare(options: argparse.Namespace) -> Comparison:
    from estimator_io import compat
    from migration.compare.comparing import compare

    compat.install()
    given = _load(options.target)()
    if not isinstance(given, Mapping):
        names = ("estimator_or_checkpoint", "model", "input_fn")
        if not isinstance(given, tuple) or len(given) != len(names):
            raise OptionError(
                f"{options.target} returned {type(given).__name__}. Expected: (estimator, model,"
                " input_fn), or a dict of the arguments of migration.compare."
            )
        given = dict(zip(names, given, strict=True))
    taken = inspect.signature(compare).parameters
    unknown = [name for name in given if name not in taken]
    required = ("estimator_or_checkpoint", "model", "input_fn")
    missing = [name for name in required if name not in given]
    if unknown or missing:
        said = [f"no argument of migration.compare: {unknown}"] * bool(unknown)
        said += [f"missing: {missing}"] * bool(missing)
        raise OptionError(
            f"{options.target} returned a dict with other names. Received: {'; '.join(said)}."
            f" Expected: {', '.join(taken)}."
        )
    told = {name: getattr(options, name) for name in ("steps", "rtol", "atol", "start")}
    return compare(**{**given, **{name: v for name, v in told.items() if v is not None}})


def _require_folder(file: str | None) -> None:
    """Refuses an output that could not be written, before minutes of comparing."""
    folder = os.path.dirname(os.path.abspath(file)) if file else os.getcwd()
    if not os.path.isdir(folder):
        raise OptionError(f"There is no folder {folder!r} for {file!r}. Make it first.")


def _load(target: str) -> Any:
    module, colon, name = target.partition(":")
    if not colon or not module or not name:
        raise OptionError(f"Received: {target!r}. Expected: MODULE:NAME, such as parity:twin.")
    if os.getcwd() not in sys.path:  # as python -m has it, and as a console script has not
        sys.path.insert(0, os.getcwd())
    try:
        loaded = importlib.import_module(module)
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise  # the module is there, and asks for another one
        raise OptionError(
            f"There is no module {module!r}. Expected: one in this folder or on the PYTHONPATH."
        ) from error
    if not callable(getattr(loaded, name, None)):
        raise OptionError(f"The module {module!r} has no function {name!r}.")
    return getattr(loaded, name)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m migration.compare",
        description=_DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("target", metavar="MODULE:NAME")
    parser.add_argument("--steps", type=int, help="training steps (50)")
    parser.add_argument("--rtol", type=float, help="relative tolerance (1e-5)")
    parser.add_argument("--atol", type=float, help="absolute tolerance (1e-6)")
    parser.add_argument("--start", choices=("copy", "own"), help="the model's starting values")
    parser.add_argument("--json", metavar="FILE", help="write everything as JSON")
    parser.add_argument("--picture", metavar="FILE", help="write both loss curves as PNG")
    return parser
