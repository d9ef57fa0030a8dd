"""The demo from its settings to its last line."""

from __future__ import annotations

import json
import os
import textwrap
from collections.abc import Callable
from typing import Any

from estimator_io.demo.quiet import log_into
from estimator_io.demo.settings import Settings

__all__ = ["run_demo"]

LOG = "tensorflow.log"
PICTURE = "timeline.png"
WIDTH = 100


def run_demo(settings: Settings, say: Callable[[str], None] = print) -> dict[str, Any]:
    """Runs every variant, prints the table, and writes the picture.

    Args:
      settings: what to run, and where its files go.
      say: prints one paragraph.

    Returns:
      The figures, as `--json` writes them.

    Raises:
      CompatibilityError: tf.estimator cannot be provided, or a library is missing.
      NoDataError: the recordings are of one language alone, or too few to split.
      SourceError: a file is no WAV file.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "1")
    with log_into(settings.output / LOG) as terminal:
        import estimator_io.compat

        estimator_io.compat.install()
        found = _measure(settings, terminal, say)
    if settings.json is not None:
        settings.json.write_text(json.dumps(found, indent=2) + "\n")
    return found


def _measure(settings: Settings, terminal: Any, say: Callable[[str], None]) -> dict[str, Any]:
    # What is imported here imports TensorFlow.
    from estimator_io.demo import report
    from estimator_io.demo.data import find_recordings
    from estimator_io.demo.progress import Progress
    from estimator_io.demo.runner import SCENARIOS, Job, prepare_alone, run_all
    from estimator_io.demo.table import format_table
    from estimator_io.demo.variants import every_variant

    recordings = find_recordings(settings.files)
    machine = report.Machine.here()
    say(_wrapped(report.introduction(machine, recordings, settings.batch_size)))
    runs = len(SCENARIOS) * len(every_variant())
    preparation = prepare_alone(recordings, settings.batch_size)
    job = Job(recordings, settings.steps, settings.batch_size, preparation.step_seconds)
    with Progress(runs, settings.steps, terminal) as progress:
        results = list(run_all(job, progress))
    measurements = [result.measurement for result in results]
    titles = report.titles(machine, preparation)
    say("\n" + format_table(measurements, titles) + "\n")
    for note in report.notes(machine, preparation, measurements):
        say(_wrapped(note))
    _draw(results, titles, settings, say)
    return report.figures(machine, recordings, settings.batch_size, preparation, measurements)


def _draw(results: Any, titles: Any, settings: Settings, say: Callable[[str], None]) -> None:
    from estimator_io.demo.timeline import can_draw, draw_timeline

    picture = settings.output / PICTURE
    if can_draw():
        draw_timeline(results, titles, picture)
        say(f"The timeline is in {picture}, TensorFlow's log in {settings.output / LOG}.")
    else:
        say(
            "The timeline picture was left out: it needs matplotlib. Run: pip install"
            " 'estimator-io[demo]'"
        )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, WIDTH, subsequent_indent="  ")
