"""Whether `estimator_io.profile` finds bottlenecks that were put there on purpose.

Usage::

    python -m benchmarks.profile [--cases WORDS] [--seconds 8] [--json FILE] [--write-docs PAGE]

Each case is profiled, its first suggestion is carried out, and the pipeline as it was and as it is
then are measured again, one after the other, since a shared machine drifts. Told are: whether the
verdict and the stage are right, and the predicted gain against the measured one. Results that
`--json` finds in its file are kept, so that cases can be run a few at a time; `--report FILES` only
writes tables. Waiting is simulated by a sleep in a numpy_function; a step is a number.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json

CLOSE = 0.25


def measure(case: Any, seconds: float) -> dict[str, Any]:
    """Returns what the profile said of a case, and what its first suggestion brought."""
    import estimator_io

    target = case.target()
    start = time.perf_counter()
    report = estimator_io.profile(target, step_seconds=case.step_seconds, seconds=seconds)
    took = time.perf_counter() - start
    first = report.suggestions[0] if report.suggestions else None
    before, after = _pair(case, target, first, seconds / 4)
    return {
        "case": case.name,
        "kind": case.kind,
        "expected": [case.verdict, list(case.stages)],
        "verdict": report.verdict.kind,
        "stage": report.verdict.stage,
        "limit": report.verdict.limit,
        "ratio": report.verdict.ratio,
        "suggestion": None if first is None else [first.name, first.edit],
        "predicted": None if first is None else first.gain,
        "measured": before / after if before and after else None,
        "seconds": took,
    }


def _pair(case: Any, target: Any, first: Any, seconds: float) -> tuple[Any, Any]:
    """Returns the seconds of a batch as it is and with the change."""
    from estimator_io.profiling.eagerly import eager_mode
    from estimator_io.profiling.flow import run_flow
    from estimator_io.profiling.target import chain_of_target

    with eager_mode():
        old = chain_of_target(target, "train", None)
        if first is None:
            return None, None
        if first.name == "nothing":
            new = old
        elif first.trial is None and case.fixed is not None:
            new = chain_of_target(case.fixed(), "train", None)
        elif first.options and "cache" not in first.options:
            new = chain_of_target(target.replace(**first.options), "train", None)
        else:
            new = first.trial
        chains = (old, new) if new is not None else (old,)
        paces = [
            [run_flow(chain, seconds, least_batches=3).seconds_per_batch for chain in chains]
            for _ in "ab"
        ]
    # The better of two: what a shared machine takes away now and then is no part of either.
    best = [min(filter(None, both), default=None) for both in zip(*paces, strict=True)]
    return best[0], best[1] if new is not None else None


def judged(result: dict[str, Any]) -> tuple[bool, bool, bool | None]:
    """Returns whether verdict, stage and prediction are right; None where nothing was predicted."""
    verdict, stages = result["expected"]
    right = result["verdict"] == verdict
    stage = result["stage"] in stages
    if not result["predicted"] or not result["measured"]:
        return right, stage, None
    return right, stage, abs(result["predicted"] / result["measured"] - 1) <= CLOSE


def table(results: list[dict[str, Any]]) -> str:
    """Returns the results as Markdown, with the totals in front."""
    marks = [judged(result) for result in results]
    total = len(results)
    verdicts, stages = sum(mark[0] for mark in marks), sum(mark[1] for mark in marks)
    close = sum(mark[2] is True for mark in marks)
    tried = sum(mark[2] is not None for mark in marks)
    rows = []
    for result, (verdict, stage, near) in zip(results, marks, strict=True):
        suggestion = result["suggestion"]
        rows.append(
            (
                result["case"],
                f"{result['verdict']}{'' if verdict else ' (wrong)'}",
                f"{result['stage']}{'' if stage else ' (wrong)'}",
                suggestion[0] if suggestion else "none",
                _gain(result["predicted"]),
                _gain(result["measured"]),
                {True: "yes", False: "no", None: "not tried"}[near],
            )
        )
    head = ("case", "verdict", "stage", "first suggestion", "predicted", "measured", "within 25 %")
    return (
        f"Verdict right in {verdicts} of {total}, stage in {stages} of {total}; predicted gain"
        f" within 25 % of the measured one in {close} of {tried} that could be tried.\n\n"
        + markdown_table(head, rows)
    )


def _gain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def main() -> int:
    """Runs the cases and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--cases", default="", help="numbers as 0:8, or words of names, by commas")
    parser.add_argument("--seconds", type=float, default=8.0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--report", type=Path, nargs="*", default=[])
    parser.add_argument("--write-docs", type=Path)
    arguments = parser.parse_args()
    files = [json.loads(path.read_text()) for path in arguments.report]
    if not files:
        files = [_run(arguments)]
    texts = [
        f"{table(content['results'])}\n\n{spell_machine(content['machine'])}" for content in files
    ]
    print("\n\n".join(texts))
    if arguments.write_docs:
        fill_section(arguments.write_docs, "profile-cases", "\n\n".join(texts))
    return 0


def _run(arguments: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.profile_cases.cases import CASES

    known: dict[str, Any] = {}
    if arguments.json and arguments.json.exists():
        content = json.loads(arguments.json.read_text())
        known = {result["case"]: result for result in content["results"]}
    facts = machine()
    for case in _chosen(CASES, arguments.cases):
        result = measure(case, arguments.seconds)
        known[case.name] = result
        print(json.dumps(result), file=sys.stderr, flush=True)
        ordered = [known[each.name] for each in CASES if each.name in known]
        if arguments.json:
            write_json(arguments.json, {"machine": facts, "results": ordered})
    return {"machine": facts, "results": [known[c.name] for c in CASES if c.name in known]}


def _chosen(cases: list[Any], words: str) -> list[Any]:
    if ":" in words:
        first, _, end = words.partition(":")
        return cases[int(first or 0) : int(end) if end else None]
    asked = [word.strip() for word in words.split(",") if word.strip()]
    return [c for c in cases if not asked or any(word in c.name for word in asked)]


if __name__ == "__main__":
    sys.exit(main())
