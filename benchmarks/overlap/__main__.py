"""`python -m benchmarks.overlap`: measures, prints a table, and keeps every raw number."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.overlap.cases import CASES, QUICK, Case, Settings
from benchmarks.overlap.results import CaseResult
from benchmarks.overlap.tables import render
from benchmarks.report import fill_section, machine, write_json

_QUICK_CASES = ("tf-2", "latency-2")


def main(argv: Sequence[str] | None = None) -> int:
    """Runs the benchmark, or shows saved results, and returns the exit code."""
    arguments = _parser().parse_args(argv)
    if arguments.report:
        reports = [json.loads(path.read_text()) for path in arguments.report]
    else:
        reports = [_measure_all(_settings(arguments), _cases(arguments), arguments.json)]
    text = "\n\n".join(_render(report) for report in reports)
    print(text)
    if arguments.write_docs:
        fill_section(arguments.write_docs, "overlap", text)
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.overlap", description=__doc__)
    parser.add_argument("--pairs", type=_positive, help="runs of every variant (default 15)")
    parser.add_argument("--steps", type=_positive, help="steps measured a run (default 20)")
    parser.add_argument("--step-ms", type=float, help="length of a step (default 25)")
    parser.add_argument(
        "--cases", default="", help=f"comma-separated, among {', '.join(CASES)} (default all)"
    )
    parser.add_argument(
        "--loop",
        choices=("estimator", "session"),
        default="estimator",
        help="Estimator.train, or a plain MonitoredSession",
    )
    parser.add_argument("--json", type=Path, help="file for machine, versions and raw numbers")
    parser.add_argument("--quick", action="store_true", help="two cases in a few seconds")
    parser.add_argument(
        "--report", type=Path, nargs="+", help="show these JSON files instead of measuring"
    )
    parser.add_argument(
        "--write-docs", type=Path, help="page whose section between the markers is replaced"
    )
    return parser


def _positive(text: str) -> int:
    value = int(text)
    if value < 1:
        raise argparse.ArgumentTypeError(f"expected at least 1, received {value}")
    return value


def _settings(arguments: argparse.Namespace) -> Settings:
    settings = QUICK if arguments.quick else Settings()
    given = {
        "pairs": arguments.pairs,
        "steps": arguments.steps and settings.whole_epochs(arguments.steps),
        "step_seconds": arguments.step_ms and arguments.step_ms / 1e3,
        "loop": arguments.loop,
    }
    return dataclasses.replace(settings, **{name: v for name, v in given.items() if v})


def _cases(arguments: argparse.Namespace) -> list[Case]:
    names = [name for name in arguments.cases.split(",") if name]
    unknown = sorted(set(names) - set(CASES))
    if unknown:
        raise SystemExit(
            f"--cases names no case: {', '.join(unknown)}. Expected: among {', '.join(CASES)}."
        )
    names = names or list(_QUICK_CASES if arguments.quick else CASES)
    return [CASES[name] for name in names]


def _measure_all(settings: Settings, cases: Sequence[Case], path: Path | None) -> dict[str, Any]:
    _prepare_tensorflow()
    from benchmarks.overlap.measure import measure

    report: dict[str, Any] = {
        "machine": machine(),
        "settings": dataclasses.asdict(settings),
        "cases": [],
    }
    progress = _Progress(len(cases), settings.pairs)
    for case in cases:
        progress.begin(case.name)
        report["cases"].append(measure(case, settings, progress.run).to_json())
        if path:
            write_json(path, report)
    progress.end()
    return report


def _prepare_tensorflow() -> None:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    import tensorflow as tf

    from estimator_io import compat

    compat.install()
    tf.get_logger().setLevel("ERROR")


class _Progress:
    """One line a pair on standard error, with the time that is left."""

    def __init__(self, cases: int, pairs: int) -> None:
        self._cases, self._pairs = cases, pairs
        self._case, self._name, self._pair = 0, "", -1
        self._start = time.monotonic()

    def begin(self, name: str) -> None:
        self._case, self._name, self._pair = self._case + 1, name, -1
        self._say("calibrating")

    def run(self, pair: int, variant: str) -> None:
        if pair != self._pair:
            self._pair = pair
            self._say(f"pair {pair + 1} of {self._pairs}")

    def end(self) -> None:
        print(f"[{time.monotonic() - self._start:5.0f} s] done", file=sys.stderr, flush=True)

    def _say(self, what: str) -> None:
        passed = time.monotonic() - self._start
        done = (self._case - 1 + max(self._pair, 0) / self._pairs) / self._cases
        left = f", about {passed / done - passed:.0f} s left" if done > 0 else ""
        print(
            f"[{passed:5.0f} s{left}] {self._name} ({self._case} of {self._cases}): {what}",
            file=sys.stderr,
            flush=True,
        )


def _render(report: dict[str, Any]) -> str:
    results = [CaseResult.from_json(content) for content in report["cases"]]
    return render(report["machine"], report["settings"], results)


if __name__ == "__main__":
    sys.exit(main())
