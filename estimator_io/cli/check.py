"""`estimator-io check`: draws a few batches of input functions, and says what is wrong."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError

if TYPE_CHECKING:
    from estimator_io.preflight.look import Look
    from estimator_io.runner.input_calls import InputCall

__all__ = ["configure", "run"]

# How much more time than an input_fn a program gets, which may have data to prepare.
_PROGRAM_SHARE = 10
_EPILOG = """
exit code: 0 nothing found, 1 something found, 2 an input_fn or the program cannot be run.
docs/check_command.md describes every case.

examples:
  estimator-io check trainer.input:train_fn
  estimator-io check trainer/input.py:input_fn --mode eval --params '{"batch_size": 32}'
  estimator-io check --script train.py -- --data_dir data --batch_size 32
  estimator-io check --script train.py --json --ignore restart
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument(
        "rest",
        nargs="*",
        metavar="MODULE:NAME | -- ARGS",
        help="an input_fn, an InputFn, a TrainSpec or an EvalSpec; with --script, what the program"
        " is given",
    )
    parser.add_argument(
        "--script",
        metavar="SCRIPT",
        help="look at every input_fn that this program hands to an Estimator; it runs, but its"
        " Estimators train nothing",
    )
    parser.add_argument(
        "-m", dest="is_module", action="store_true", help="SCRIPT is the import name of a module"
    )
    parser.add_argument(
        "--tf1", action="store_true", help="as `estimator-io run --tf1`, for SCRIPT"
    )
    parser.add_argument("--mode", choices=["train", "eval", "infer"], help="of MODULE:NAME")
    parser.add_argument("--params", metavar="JSON", help="what an Estimator would give as params")
    parser.add_argument(
        "--batches", type=int, default=10, metavar="N", help="to draw (default: %(default)s)"
    )
    parser.add_argument(
        "--seconds",
        type=float,
        default=60.0,
        metavar="S",
        help="for each input_fn, at most (default: %(default)g)",
    )
    parser.add_argument("--ignore", metavar="CASES", default="", help="by commas, such as restart")
    parser.add_argument("--json", action="store_true", dest="as_json", help="print JSON")


def run(arguments: argparse.Namespace) -> int:
    """Looks at input functions and prints what was found.

    Args:
      arguments: what `configure` declared.

    Returns:
      0, or 1 where something was found, or 2 where an input_fn cannot be run.

    Raises:
      OptionError: an option is impossible, or what was named cannot be found or loaded.
      CompatibilityError: tf.estimator cannot be provided.
    """
    params = _params(arguments)
    ignored = _ignored(arguments.ignore)
    if arguments.script is None and len(arguments.rest) != 1:
        raise OptionError(
            "Expected: one MODULE:NAME, or --script SCRIPT and its arguments behind --. Received:"
            f" {' '.join(arguments.rest) or 'nothing'}."
        )
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    from estimator_io.preflight.limits import Limits
    from estimator_io.runner.watch import Watch

    limits = Limits(arguments.batches, arguments.seconds)
    looks: list[Look] = []

    def take(call: InputCall) -> None:
        with watch.paused():
            looks.append(look_at(call, limits, ignored))

    from estimator_io import compat

    compat.install()
    from estimator_io.preflight.look import look_at

    seconds = _PROGRAM_SHARE * limits.seconds
    what = arguments.script or arguments.rest[0]
    watch = Watch(seconds, lambda place: _spell_idle(what, seconds, place))
    # What a program prints must not end up in the JSON.
    with _stdout_to_stderr(), watch:
        _visit(arguments, params, take)
    return _end(looks, ignored, arguments.as_json)


@contextlib.contextmanager
def _stdout_to_stderr() -> Iterator[None]:
    """Sends to standard error what the program and its child processes print."""
    sys.stdout.flush()
    try:
        kept = os.dup(1)
    except OSError:  # it is closed
        kept = None
    try:
        if kept is not None:
            os.dup2(2, 1)
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        if kept is not None:
            os.dup2(kept, 1)
            os.close(kept)


def _spell_idle(what: str, seconds: float, place: str) -> str:
    return (
        f"estimator-io check: {what} has run for {seconds:g} s without handing an input_fn over; it"
        f" stands at {place}. Mend what it waits for there, or give more time with --seconds: ten"
        " times as much goes to the program."
    )


def _visit(arguments: argparse.Namespace, params: Any, take: Callable[[Any], None]) -> None:
    from estimator_io.cli import targets

    if arguments.script is not None:
        targets.script_input_fns(
            arguments.script,
            arguments.rest,
            is_module=arguments.is_module,
            tf1=arguments.tf1,
            visit=take,
        )
        return
    for mode in _modes(arguments.rest[0], arguments.mode):
        take(targets.load_input_call(arguments.rest[0], mode, params))


def _modes(target: str, mode: str | None) -> Iterator[str | None]:
    """Yields the modes to look at: both where the input_fn asks for its mode and none is given."""
    from estimator_io.cli import targets

    yield mode
    if mode is None:
        call = targets.load_input_call(target)
        if call.mode == "train" and "mode" in call.arguments() and call.steps is None:
            yield "eval"


def _params(arguments: argparse.Namespace) -> Any:
    if arguments.params is None:
        return None
    if arguments.script is not None:
        raise OptionError("--params is for MODULE:NAME; the program's Estimator has its own.")
    try:
        found = json.loads(arguments.params)
    except json.JSONDecodeError as error:
        raise OptionError(f"--params is no JSON: {error}. Received: {arguments.params}") from error
    if not isinstance(found, dict):
        raise OptionError(f"--params must be a JSON object. Received: {arguments.params}")
    return found


def _ignored(text: str) -> set[str]:
    from estimator_io.preflight.names import CASES

    found = {part.strip().replace("_", " ") for part in text.split(",") if part.strip()}
    for name in sorted(found - {*CASES}):
        raise OptionError(f"--ignore: there is no case {name!r}. Expected: {', '.join(CASES)}.")
    return found


def _end(looks: list[Look], ignored: set[str], as_json: bool) -> int:
    """Prints the reports, and returns the exit code."""
    import dataclasses

    from estimator_io.preflight.cases import shared_caches
    from estimator_io.preflight.report import EXIT_CODES

    reports = [look.report for look in looks]
    locks = shared_caches({look.report.name: look.caches for look in looks})
    for at, report in enumerate(reports):
        if report.name in locks and "cache lock" not in ignored:
            found = (*report.findings, locks[report.name])
            reports[at] = dataclasses.replace(report, findings=found)
    if as_json:
        print(json.dumps({"input_fns": [report.as_dict() for report in reports]}, indent=2))
    else:
        print("\n\n".join(map(str, reports)))
    code = max(EXIT_CODES[report.status] for report in reports)
    if any(look.hangs for look in looks):
        # A thread that waits inside TensorFlow or the program would hold the process up.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code
