"""Whether `estimator_io.profile` finds bottlenecks that were put there on purpose.

Usage::

    python -m benchmarks.profile [--cases WORDS | --held-out] [--seconds 8] [--json FILE]
        [--write-docs PAGE]

Each case is profiled, its first suggestion is carried out, and the pipeline as it was and as it is
then are measured again, in turn, three times, since a shared machine drifts; the median of the
three gains counts. A cache is filled before. Told are: whether the verdict and the stage are right,
and the predicted gain against the measured one. Results that `--json` finds in its file are kept,
so that cases can be run a few at a time; `--report FILES` only writes tables. Waiting is simulated
by a sleep in a numpy_function; a step is a number.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks.report import fill_section, machine, markdown_table, spell_machine, write_json

CLOSE = 0.25
ROUNDS = 3


def measure(case: Any, seconds: float) -> dict[str, Any]:
    """Returns what the profile said of a case, and what its first suggestion brought."""
    import estimator_io

    target = case.target()
    start = time.perf_counter()
    report = estimator_io.profile(target, step_seconds=case.step_seconds, seconds=seconds)
    took = time.perf_counter() - start
    first = report.suggestions[0] if report.suggestions else None
    pairs = _measured(case, target, first, seconds / 4)
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
        "between": None if first is None else first.gain_between,
        "measured": gain(pairs),
        "rounds": pairs,
        "seconds": took,
        "asked": seconds,
    }


def _measured(case: Any, target: Any, first: Any, seconds: float) -> list[list[float]] | None:
    """Returns seconds of a batch as it is and with the change, a pair for each round."""
    from estimator_io.profiling.eagerly import eager_mode
    from estimator_io.profiling.flow import run_flow
    from estimator_io.profiling.target import chain_of_target

    with eager_mode():
        old = chain_of_target(target, "train", None)
        new = None if first is None else _changed(case, target, first, old)
        if new is None:
            return None
        pairs = []
        run_flow(new, seconds)  # worker processes start, pages of memory are touched
        for _ in range(ROUNDS):
            flows = [run_flow(chain, seconds, least_batches=3) for chain in (old, new)]
            pairs.append([flow.seconds_per_batch or float("inf") for flow in flows])
        return pairs


def _changed(case: Any, target: Any, first: Any, old: Any) -> Any:
    """Returns the pipeline with the first suggestion carried out; None where that cannot be."""
    from estimator_io.profiling.target import chain_of_target

    if first.name == "nothing":
        return old
    if first.name == "cache" and first.options:
        return _input_fn_with_cache(target, first, old)
    if first.name == "cache":
        return _with_cache(old, len(old.steps) - len(first.trial.steps)) if first.trial else None
    if first.trial is None:
        return None if case.fixed is None else chain_of_target(case.fixed(), "train", None)
    if first.options:
        return chain_of_target(target.replace(**first.options), "train", None)
    return first.trial


def _with_cache(chain: Any, at: int) -> Any:
    """Returns the pipeline with a cache behind step `at`, filled by one pass over all of it."""
    import dataclasses

    from estimator_io.profiling.eagerly import cached

    dataset = chain.steps[0].apply(None)
    for step in chain.steps[1 : at + 1]:
        dataset = step.apply(dataset)
    kept = cached(dataset.with_options(chain.options))
    for _ in kept:
        pass
    return dataclasses.replace(chain.from_memory(at, kept), owner=chain)


def _input_fn_with_cache(target: Any, first: Any, chain: Any) -> Any:
    """Returns the pipeline of an InputFn whose own cache has been filled by a pass."""
    import dataclasses

    from estimator_io.profiling.chain import Step

    if "memory" not in first.options.values():
        return None
    dataset = target.replace(**first.options).dataset("train")
    rows, batch = target.num_rows, target.options.batch_size
    for _ in dataset.take(2 * rows // batch):
        pass
    step = Step("all", "source", lambda _: dataset)
    return dataclasses.replace(chain, steps=(step,), options=dataset.options(), owner=dataset)


def gain(pairs: list[list[float]] | None) -> float | None:
    """Returns the median of what the change brought, over rounds in which batches came of both."""
    whole = [pair for pair in pairs or [] if max(pair) < float("inf")]
    return statistics.median(before / after for before, after in whole) if whole else None


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
    longest = max(results, key=lambda result: result["seconds"])
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
        f" within 25 % of the measured one in {close} of {tried} that could be tried. The longest"
        f" profile took {longest['seconds']:.1f} s, of {longest['asked']:.0f} s asked for.\n\n"
        + markdown_table(head, rows)
    )


def _gain(value: float | None) -> str:
    return "" if value is None else f"{value:.2f}"


def main() -> int:
    """Runs the cases and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0] if __doc__ else None)
    parser.add_argument("--cases", default="", help="numbers as 0:8, or words of names, by commas")
    parser.add_argument("--held-out", action="store_true", help="the cases of held_out.py")
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
        name = "profile-held-out" if arguments.held_out else "profile-cases"
        fill_section(arguments.write_docs, name, "\n\n".join(texts))
    return 0


def _run(arguments: argparse.Namespace) -> dict[str, Any]:
    from benchmarks.profile_cases.cases import CASES
    from benchmarks.profile_cases.held_out import HELD_OUT

    cases = HELD_OUT if arguments.held_out else CASES
    known: dict[str, Any] = {}
    if arguments.json and arguments.json.exists():
        content = json.loads(arguments.json.read_text())
        known = {result["case"]: result for result in content["results"]}
    facts = machine()
    for case in _chosen(cases, arguments.cases):
        result = measure(case, arguments.seconds)
        known[case.name] = result
        print(json.dumps(result), file=sys.stderr, flush=True)
        ordered = [known[each.name] for each in cases if each.name in known]
        if arguments.json:
            write_json(arguments.json, {"machine": facts, "results": ordered})
    return {"machine": facts, "results": [known[c.name] for c in cases if c.name in known]}


def _chosen(cases: list[Any], words: str) -> list[Any]:
    if ":" in words:
        first, _, end = words.partition(":")
        return cases[int(first or 0) : int(end) if end else None]
    asked = [word.strip() for word in words.split(",") if word.strip()]
    return [c for c in cases if not asked or any(word in c.name for word in asked)]


if __name__ == "__main__":
    sys.exit(main())
