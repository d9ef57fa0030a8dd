"""`estimator-io profile`: what limits training, input or step, and what to change."""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING, Any

from estimator_io.errors import OptionError

if TYPE_CHECKING:
    from estimator_io.profiling.report import Report
    from estimator_io.runner.input_calls import InputCall

__all__ = ["configure", "run"]

_EPILOG = """
exit code: 0 profiled, 2 the target cannot be found, called or read, it gives no batch, or a report
cannot be written.
docs/profile.md tells how it measures and predicts.

examples:
  estimator-io profile trainer.input:train_fn --step-seconds 0.05
  estimator-io profile train.py:train_fn --apply --report profile.html
  estimator-io profile --script train.py --json
"""

# What a report is written with, and what stands for it where that cannot be printed.
_DRAWN_PLAIN = {"…": "...", "─": "-"}
_DRAWN = "".join(_DRAWN_PLAIN)


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the options."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    parser.add_argument("target", nargs="?", metavar="MODULE:NAME", help="or FILE.py:NAME")
    parser.add_argument(
        "--script", metavar="SCRIPT", help="a program: each of its input functions is profiled"
    )
    parser.add_argument("--mode", choices=["train", "eval", "infer"], help="default: train")
    parser.add_argument(
        "--step-seconds", type=float, metavar="S", help="seconds of a training step without input"
    )
    parser.add_argument(
        "--seconds", type=float, default=10.0, metavar="S", help="for the whole (default: 10)"
    )
    parser.add_argument(
        "--batch-size", type=int, metavar="N", help="params['batch_size'], where the function asks"
    )
    parser.add_argument(
        "--apply", action="store_true", help="try the first suggestions, and tell what they brought"
    )
    parser.add_argument("--json", action="store_true", help="print JSON instead of text")
    parser.add_argument(
        "--report",
        action="append",
        default=[],
        metavar="FILE",
        help="write it to FILE too: .html, .png, .json or .txt; several times if wanted",
    )


def run(arguments: argparse.Namespace) -> int:
    """Profiles a target, or the input functions of a script, and prints what it found.

    Args:
      arguments: what `configure` declared.

    Returns:
      0.

    Raises:
      OptionError: the target cannot be found or called, or a report cannot be written.
      NoDataError: a stage lets no element through.
      ProfileError: an input function failed, an element could not be made, or nothing came in
        time.
    """
    if (arguments.target is None) == (arguments.script is None):
        raise OptionError("Expected: either MODULE:NAME (or FILE.py:NAME), or --script SCRIPT.")
    from estimator_io.profiling.saving import check_path

    for path in arguments.report:
        check_path(path)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    found = _of_script(arguments) if arguments.script else _of_target(arguments)
    try:
        for path in arguments.report:
            for name, report in found:
                report.save(_named(path, name) if len(found) > 1 else path)
    finally:
        _print([report for _, report in found], arguments.json)
    return 0


def _of_target(arguments: argparse.Namespace) -> list[tuple[str, Report]]:
    from estimator_io.cli.targets import InputCall, load_input_call, load_target

    found = load_target(arguments.target)
    if hasattr(found, "element_spec") and not callable(found):  # a Dataset
        call = InputCall(found, mode=arguments.mode or "train")
    else:
        call = load_input_call(arguments.target, arguments.mode)
    return [(call.name, _profile(call, arguments))]


def _of_script(arguments: argparse.Namespace) -> list[tuple[str, Report]]:
    from estimator_io.cli.targets import script_input_fns

    found: list[tuple[str, Report]] = []
    failed: list[Exception] = []

    def visit(call: InputCall) -> None:
        if arguments.mode in (None, call.mode) and not failed:
            try:
                found.append((call.name, _profile(call, arguments)))
            except Exception as error:  # the program must not take it for its own
                failed.append(error)

    script_input_fns(arguments.script, visit=visit)
    if failed:
        raise failed[0]
    if not found:
        raise OptionError(
            f"{arguments.script!r} hands no input_fn to an Estimator in mode {arguments.mode}."
        )
    return found


def _profile(call: InputCall, arguments: argparse.Namespace) -> Report:
    from estimator_io.profiling.profiler import profile

    params: Any = call.params
    if arguments.batch_size is not None:
        params = {**(params or {}), "batch_size": arguments.batch_size}
    return profile(
        call.input_fn,
        step_seconds=arguments.step_seconds,
        seconds=arguments.seconds,
        mode=call.mode,
        params=params,
        apply=arguments.apply,
    )


def _print(reports: list[Report], as_json: bool) -> None:
    from estimator_io.profiling.text import as_text, print_report

    if as_json and len(reports) == 1:
        print(reports[0].to_json())
    elif as_json:
        print(f"[{', '.join(report.to_json() for report in reports)}]")
    else:
        for report in reports:
            if sys.stdout.isatty() and _writes(_DRAWN):
                print_report(report)
            else:
                _print_text(as_text(report))


def _print_text(text: str) -> None:
    """Prints text, with the nearest that a terminal without Unicode has."""
    if not _writes(text):
        encoding = sys.stdout.encoding
        for sign, plain in _DRAWN_PLAIN.items():
            text = text.replace(sign, plain)
        text = text.encode(encoding, "replace").decode(encoding)
    print(text)


def _writes(text: str) -> bool:
    """Tells whether standard output has all of the characters."""
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _named(path: str, name: str) -> str:
    stem, end = os.path.splitext(path)
    return f"{stem}-{name}{end}"
