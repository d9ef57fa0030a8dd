"""`estimator-io run`: a legacy Estimator program, unchanged, on the TensorFlow of today."""

from __future__ import annotations

import argparse
import os

from estimator_io.errors import OptionError

__all__ = ["configure", "run"]

_EPILOG = """
examples:
  estimator-io run train.py --data_dir data --batch_size 32
  estimator-io run --tf1 train_2018.py
  estimator-io run -m trainer.task --job_dir out
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options; everything behind the script or the module belongs to it."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.usage = (
        "estimator-io run [-h] [--tf1] [--deprecation-warnings] (SCRIPT | -m MODULE) [ARGS ...]"
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


def run(arguments: argparse.Namespace) -> int:
    """Runs the program as `python` would, after `estimator_io.compat.install()`.

    Args:
      arguments: what `configure` declared.

    Returns:
      The exit code of the program where it does not end by an exit of its own.

    Raises:
      OptionError: no program is named, or there is none of that name.
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
    return program.run(found, rest, program_builtins)
