"""`python -m benchmarks.loaders`: measures, prints tables, and keeps every raw number."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")  # TensorFlow and torch must see the same

from benchmarks.loaders.cases import CASES, QUICK, Case, Settings
from benchmarks.loaders.results import CaseResult
from benchmarks.loaders.tables import render
from benchmarks.report import fill_section, machine, write_json


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark, or shows saved results, and returns the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.report:
        reports = [json.loads(path.read_text()) for path in arguments.report]
    else:
        reports = [_measure_all(arguments)]
    text = "\n\n".join(_render(report) for report in reports)
    print(text)
    if arguments.write_docs:
        fill_section(arguments.write_docs, "loaders", text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.loaders", description=__doc__)
    parser.add_argument("--pairs", type=int, help="runs of every loader (default 15)")
    parser.add_argument("--seconds", type=float, help="measured in each run (default 0.8)")
    parser.add_argument(
        "--cases", default="", help=f"comma-separated, among {', '.join(CASES)} (default all)"
    )
    parser.add_argument(
        "--loaders", default="", help="comma-separated; the others are left out (default all)"
    )
    parser.add_argument("--json", type=Path, help="file for machine, versions and raw numbers")
    parser.add_argument("--quick", action="store_true", help="two short pairs on few rows")
    parser.add_argument(
        "--report", type=Path, nargs="+", help="show these JSON files instead of measuring"
    )
    parser.add_argument(
        "--write-docs", type=Path, help="page whose section between the markers is replaced"
    )
    return parser


def _settings(arguments: argparse.Namespace) -> Settings:
    given = {"pairs": arguments.pairs, "seconds": arguments.seconds}
    settings = QUICK if arguments.quick else Settings()
    return dataclasses.replace(settings, **{name: v for name, v in given.items() if v})


def _cases(arguments: argparse.Namespace) -> list[Case]:
    names = [name for name in arguments.cases.split(",") if name] or list(CASES)
    loaders = [name for name in arguments.loaders.split(",") if name]
    chosen = [CASES[_known(name, CASES, "--cases")] for name in names]
    every = {loader for case in CASES.values() for loader in case.loaders}
    wanted = {_known(name, every, "--loaders") for name in loaders} or every
    # What is compared with must stay.
    kept = [
        tuple(n for n in c.loaders if n in wanted or n in ("library", c.written_by_hand[0]))
        for c in chosen
    ]
    return [dataclasses.replace(c, loaders=k) for c, k in zip(chosen, kept, strict=True)]


def _known(name: str, names: Any, option: str) -> str:
    if name not in names:
        raise SystemExit(
            f"{option} is unknown. Received: {name!r}. Expected: among {', '.join(sorted(names))}."
        )
    return name


def _measure_all(arguments: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.loaders.data import make_files
    from benchmarks.loaders.measure import measure, missing_packages

    settings = _settings(arguments)
    report: dict[str, Any] = {
        "machine": _machine(),
        "settings": dataclasses.asdict(settings),
        "cases": [],
    }
    start = time.monotonic()

    def say(what: str) -> None:
        passed = time.monotonic() - start
        print(f"[{passed:5.0f} s] {what}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as folder:
        say("writing files")
        files = make_files(Path(folder), settings)
        for case in _cases(arguments):
            missing = missing_packages(case, "library")
            if missing:
                say(f"{case.name}: left out, needs {', '.join(missing)}")
                continue
            say(f"{case.name}: starting {len(case.loaders)} loaders")
            begun: set[int] = set()

            def progress(pair: int, name: str, case: Case = case, begun: set[int] = begun) -> None:
                if pair not in begun:
                    begun.add(pair)
                    say(f"{case.name}: pair {pair + 1} of {settings.pairs}")

            result = measure(case, settings, files[case.kind], progress)
            report["cases"].append(result.to_json())
            if arguments.json:
                write_json(arguments.json, report)
    say("done")
    return report


def _machine() -> dict[str, Any]:
    from importlib.metadata import PackageNotFoundError, version

    facts = machine()
    for name in ("keras", "torch", "grain", "pillow", "pyarrow"):
        try:
            facts["versions"][name] = version(name)
        except PackageNotFoundError:
            facts["versions"][name] = None
    return facts


def _render(report: dict[str, Any]) -> str:
    results = [CaseResult.from_json(content) for content in report["cases"]]
    return render(report["machine"], report["settings"], results)


if __name__ == "__main__":
    sys.exit(main())
