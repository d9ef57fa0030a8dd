"""The results as Markdown: steady rates and ratios, then the start of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from benchmarks.overlap.results import CaseResult
from benchmarks.report import markdown_table, spell_machine

__all__ = ["render"]

_STEADY = (
    "case",
    "as written",
    "prefetch(1)",
    "hand-tuned",
    "library",
    "limit",
    "library / limit",
    "library / hand-tuned",
    "library / as written",
    "most possible",
    "share of it",
)
_START = (
    "case",
    "as written",
    "prefetch(1)",
    "hand-tuned",
    "library",
    "library / hand-tuned",
    "library / as written",
)
_TIMED = ("as_written", "with_prefetch", "hand_tuned", "library")


def render(machine: dict[str, Any], settings: dict[str, Any], results: Sequence[CaseResult]) -> str:
    """Returns the section of one run: what it ran on, and both tables."""
    tensorflow = machine["versions"]["tensorflow"]
    return "\n\n".join(
        [
            f"### TensorFlow {tensorflow}",
            f"{spell_machine(machine)}. {settings['pairs']} pairs, step"
            f" {1e3 * settings['step_seconds']:.0f} ms, batch {settings['batch_size']}, epochs of"
            f" {settings['epoch_steps']} steps, {settings['steps']} steps measured behind the"
            f" first epoch, loop: {settings['loop']}.",
            "Steady state: milliseconds a step (medians), and rates as ratios of pairs (median,"
            " 95 % interval).",
            markdown_table(_STEADY, [_steady_row(result) for result in results]),
            "From the call of train: seconds to the end of the first step (medians), and the rates"
            " of whole runs as ratios of pairs.",
            markdown_table(_START, [_start_row(result) for result in results]),
        ]
    )


def _steady_row(result: CaseResult) -> list[str]:
    return [
        result.case.name,
        *(f"{result.milliseconds(name):.1f}" for name in (*_TIMED, "limit")),
        str(result.speed("library", "limit")),
        str(result.speed("library", "hand_tuned")),
        str(result.speed("library", "as_written")),
        f"{result.speed('limit', 'as_written').median:.2f}",
        f"{result.share_of_possible:.2f}",
    ]


def _start_row(result: CaseResult) -> list[str]:
    return [
        result.case.name,
        *(f"{result.first(name):.2f}" for name in _TIMED),
        str(result.speed_from_call("library", "hand_tuned")),
        str(result.speed_from_call("library", "as_written")),
    ]
