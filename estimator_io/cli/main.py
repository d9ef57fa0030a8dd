"""`estimator-io`: the entry point that hands over to one subcommand.

Each subcommand is a module with `configure(parser)` and `run(arguments) -> int`, imported only to
build its parser, so that `estimator-io --help` never waits for TensorFlow.
"""

from __future__ import annotations

import argparse
import importlib
import sys
from collections.abc import Sequence

from estimator_io.cli.run import spell_out
from estimator_io.errors import EstimatorIOError

__all__ = ["main"]

_COMMANDS = {
    "cache": "show, verify, fill and clear the folders that keep what parse made",
    "check": "draw a few batches of input functions, and say what is wrong with them",
    "demo": "train on recorded speech, as people write it and with estimator_io, and compare",
    "lint": "find slow and wrong input pipelines in source code, without running it",
    "profile": "measure an input pipeline: what limits, which stage, and what to change",
    "serve": "run a dispatcher or a worker of a tf.data service, or ask how one is",
    "run": "run a legacy Estimator script unchanged on any TensorFlow from 2.15 to 2.21",
}


def build_parser() -> argparse.ArgumentParser:
    """Returns the parser of `estimator-io` with one subparser a command."""
    parser = argparse.ArgumentParser(
        prog="estimator-io", description="Input functions that keep the accelerator busy."
    )
    commands = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, summary in _COMMANDS.items():
        module = importlib.import_module(f"estimator_io.cli.{name}")
        subparser = commands.add_parser(name, help=summary, description=summary)
        module.configure(subparser)
        subparser.set_defaults(run=module.run)
    return parser


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the command line.

    Args:
      argv: the arguments behind the program's name; None takes those of the process.

    Returns:
      The exit code: 0 on success, 2 where the command was given something it cannot use.
    """
    words = [*sys.argv[1:]] if argv is None else [*argv]
    if words[:1] == ["run"]:
        words[1:] = spell_out(words[1:])
    arguments = build_parser().parse_args(words)
    try:
        return arguments.run(arguments)
    except EstimatorIOError as error:
        print(f"estimator-io {arguments.command}: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
