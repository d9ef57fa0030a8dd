"""`estimator-io run`: a legacy Estimator program, unchanged, on the TensorFlow of today."""

from __future__ import annotations

import argparse
import os
import re
import sys
import threading
from collections.abc import Callable, Sequence

from estimator_io.errors import EstimatorIOError, OptionError
from estimator_io.runner.places import error_place

__all__ = ["configure", "run", "spell_out"]

_COMPARE_SECONDS = 5.0
_OPTIONS = ("batch_size", "processes", "cache", "service", "device")
_EPILOG = """
examples:
  estimator-io run train.py --data_dir data --batch_size 32
  estimator-io run --tf1 train_2018.py
  estimator-io run -m trainer.task --job_dir out
  estimator-io run --accelerate --processes 4 train.py --data_dir data
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options; everything behind the script or the module belongs to it."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.usage = (
        "estimator-io run [-h] [--tf1] [--deprecation-warnings]\n"
        "                        [--accelerate [--compare [SECONDS]] [--batch_size ROWS]\n"
        "                         [--processes N] [--cache DIR] [--service ADDRESS]\n"
        "                         [--device DEVICE] [--input_seconds S]]\n"
        "                        (SCRIPT | -m MODULE) [ARGS ...]"
    )
    parser.add_argument(
        "--tf1",
        action="store_true",
        help="make `import tensorflow` in the program mean TensorFlow 1 (tf.compat.v1, without "
        "TensorFlow 2 behaviour, with the tf.contrib names that have an exact counterpart)",
    )
    parser.add_argument(
        "--deprecation-warnings",
        action="store_true",
        help="show the warnings that tf.estimator is deprecated, which are hidden otherwise",
    )
    _add_acceleration(parser)
    parser.add_argument(
        "-m",
        dest="is_module",
        action="store_true",
        help="run a module by its import name, as python -m does",
    )
    parser.add_argument(
        "program",
        metavar="PROGRAM [ARGS ...]",
        nargs=argparse.REMAINDER,
        help="the script or the module, and the arguments it is given",
    )


def _add_acceleration(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("input pipelines (docs/accelerate.md)")
    group.add_argument(
        "--accelerate",
        action="store_true",
        help="make every input_fn fast that the program hands to an Estimator, and tell at the end "
        "what was changed and how long steps waited for input",
    )
    group.add_argument(
        "--compare",
        nargs="?",
        type=float,
        const=_COMPARE_SECONDS,
        metavar="SECONDS",
        help="first read each pipeline for some seconds as written and accelerated, without "
        f"training, and print both rates (default: {_COMPARE_SECONDS:g} s)",
    )
    group.add_argument(
        "--batch_size", type=int, metavar="ROWS", help="rows of a batch in place of the program's"
    )
    group.add_argument(
        "--processes", type=int, metavar="N", help="worker processes for maps that call Python"
    )
    group.add_argument(
        "--cache", metavar="DIR", help='keep what maps made of rows, in a folder or in "memory"'
    )
    group.add_argument(
        "--service",
        metavar="ADDRESS",
        help='run pipelines of training in a tf.data service: "local" or grpc://host:port',
    )
    group.add_argument(
        "--input_seconds",
        type=float,
        metavar="S",
        help="end the program where an input_fn has not returned by then (default: 600)",
    )
    group.add_argument(
        "--device", metavar="DEVICE", help='copy batches to "auto" or a device ahead of the step'
    )


def spell_out(words: Sequence[str]) -> list[str]:
    """Returns the words behind `run` with the seconds of --compare, where none are given.

    argparse would take the program for them: `--compare train.py`.
    """
    spelled = [*words]
    at = 0
    while at < len(spelled) and spelled[at].startswith("--"):
        word = spelled[at]
        following = spelled[at + 1] if at + 1 < len(spelled) else ""
        if word == "--compare" and not _is_number(following):
            spelled[at] = f"--compare={_COMPARE_SECONDS:g}"
        at += 2 if (word == "--compare" and _is_number(following)) or _takes_value(word) else 1
    return spelled


def _is_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _takes_value(word: str) -> bool:
    """Whether the next word is the value of this option, which may be shortened."""
    names = [f"--{name}" for name in ("input_seconds", *_OPTIONS)]
    return "=" not in word and len(word) > 3 and any(name.startswith(word) for name in names)


def run(arguments: argparse.Namespace) -> int:
    """Runs the program as `python` would, after `estimator_io.compat.install()`.

    Args:
      arguments: what `configure` declared.

    Returns:
      The exit code of the program where it does not end by an exit of its own.

    Raises:
      OptionError: no program is named, or there is none of that name, or an option of
        --accelerate is given without it.
      CompatibilityError: tf.estimator cannot be provided.
    """
    if not arguments.program:
        raise OptionError(
            "No program is named. Expected: a script, or -m and a module; "
            "for example: estimator-io run train.py"
        )
    from estimator_io import compat
    from estimator_io.runner import program

    name, *rest = arguments.program
    _require_accelerate(arguments)
    # A script that is not there is told before TensorFlow is loaded; a module is only found by
    # importing the packages it lies in, which may use tf.estimator.
    script = None if arguments.is_module else program.find_script(name)
    compat.install(deprecation_warnings=True if arguments.deprecation_warnings else None)
    program_builtins = None
    if arguments.tf1:
        from estimator_io.runner import tf1

        program_builtins = tf1.activate(script.folder if script else os.getcwd())
    found = script or program.find_module(name)
    if found.spec is not None:
        program_builtins = getattr(found.spec.loader, "builtins", None)
    ours = _refused_here(arguments)

    def run_program() -> int:
        return _told(lambda: program.run(found, rest, program_builtins, ours))

    return _accelerated(arguments, run_program) if arguments.accelerate else run_program()


def _refused_here(arguments: argparse.Namespace) -> tuple[type[Exception], ...]:
    """Returns the errors of a program that are told in one line, with exit code 2."""
    from estimator_io.runner.flag_errors import refused_flags

    refused = (*refused_flags(), OptionError)
    return (*refused, EstimatorIOError) if arguments.accelerate else refused


def _told(run_program: Callable[[], int]) -> int:
    """Returns the exit code of a program: 2 where it, or its flags, ask for what cannot be."""
    from estimator_io.runner.flag_errors import ended_by_absl, refused_flags, spell_flag_error

    try:
        return run_program()
    except SystemExit as error:
        if not ended_by_absl(error):
            raise
        return 2  # absl has told it
    except EstimatorIOError as error:
        place, text = error_place(error), str(error)
        if place and not re.match(r"\S+:\d+: ", text):
            text = f"{place}: {text}"
    except refused_flags() as error:
        text = spell_flag_error(error)
    print(f"estimator-io run: {text}", file=sys.stderr, flush=True)
    return 2


def _require_accelerate(arguments: argparse.Namespace) -> None:
    given = [
        name
        for name in ("compare", "input_seconds", *_OPTIONS)
        if getattr(arguments, name) is not None
    ]
    if given and not arguments.accelerate:
        raise OptionError(
            f"--{given[0]} counts only with --accelerate. Expected: estimator-io run --accelerate"
            f" --{given[0]} … PROGRAM; options of the program stand behind its name."
        )
    seconds = arguments.compare
    if seconds is not None and not 0 < seconds < float("inf"):
        raise OptionError(f"--compare takes seconds above 0. Received: {seconds}.")
    seconds = arguments.input_seconds
    if seconds is not None and not 0 < seconds < threading.TIMEOUT_MAX:
        raise OptionError(f"--input_seconds takes seconds above 0. Received: {seconds}.")


def _accelerated(arguments: argparse.Namespace, run_program: Callable[[], int]) -> int:
    from estimator_io.runner.acceleration import INPUT_SECONDS, Acceleration

    options = {name: getattr(arguments, name) for name in _OPTIONS}
    seconds = arguments.input_seconds or INPUT_SECONDS
    acceleration = Acceleration(options, arguments.compare, seconds)
    acceleration.install()
    code = 1
    try:
        code = run_program()
        return code
    except SystemExit as error:
        code = 0 if error.code in (None, 0) else 1
        raise
    finally:
        if code == 0 or acceleration.seen:
            print(acceleration.report(), file=sys.stderr, flush=True)
