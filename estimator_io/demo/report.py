"""What the demo says in words, and its figures for other programs."""

from __future__ import annotations

import dataclasses
import os
import platform
from collections.abc import Sequence
from typing import Any

from estimator_io.demo.data import Recordings
from estimator_io.demo.measurement import Measurement
from estimator_io.demo.runner import Preparation

__all__ = ["Machine", "figures", "introduction", "notes", "titles"]


@dataclasses.dataclass(frozen=True)
class Machine:
    """Where the figures come from.

    Attributes:
      tensorflow: its version.
      cores: that this process may use.
      load: programs that wanted a core when the demo began, on average over a minute.
      accelerators: the names of the GPUs that TensorFlow sees.
    """

    tensorflow: str
    cores: int
    load: float
    accelerators: tuple[str, ...]

    @classmethod
    def here(cls) -> Machine:
        """Returns this machine."""
        import tensorflow as tf

        return cls(
            tensorflow=tf.__version__,
            cores=len(os.sched_getaffinity(0)),
            load=round(os.getloadavg()[0], 1),
            accelerators=tuple(gpu.name for gpu in tf.config.list_physical_devices("GPU")),
        )


def introduction(machine: Machine, recordings: Recordings, batch_size: int) -> str:
    """Returns what is about to run, and on what."""
    device = (
        f"The model runs on {machine.accelerators[0]}."
        if machine.accelerators
        else "No accelerator was tried: TensorFlow sees none here."
    )
    return (
        f"{len(recordings.train)} recordings to train on and {len(recordings.validation)} to"
        f" validate, {len(recordings.languages)} languages, batches of {batch_size}."
        f" TensorFlow {machine.tensorflow}, Python {platform.python_version()},"
        f" {machine.cores} cores. {device}"
    )


def titles(machine: Machine, preparation: Preparation) -> dict[str, str]:
    """Returns what each scenario is, in words."""
    milliseconds = preparation.step_seconds * 1e3
    where = "accelerator" if machine.accelerators else "CPU"
    return {
        "fixed": f"A step of fixed length that uses no CPU: {milliseconds:.1f} ms",
        "own": f"The model's own step on this {where}",
    }


def notes(
    machine: Machine, preparation: Preparation, measurements: Sequence[Measurement]
) -> list[str]:
    """Returns what a reader must know to read the table."""
    ms = {name: 1e3 * value for name, value in dataclasses.asdict(preparation).items()}
    lines = [
        f"A batch alone takes {ms['python']:.1f} ms to prepare as written with the reader in"
        f" Python, {ms['tensorflow']:.1f} ms as written in TensorFlow, {ms['library']:.1f} ms with"
        " audio_input_fn. The fixed step is half of the first: a sleep, the way a step on a GPU"
        " looks to the host. It trains nothing, so it has no accuracy.",
        "waiting: share of step time before the batch was there. steps/s and rows/s leave out"
        " the first step, checkpoints and evaluations; wall s has everything.",
        "prepared: recordings read. needed: rows that reached a step or an evaluation. As written,"
        " each epoch ends in a short batch, so its steps have fewer rows.",
        "accuracy: one speaker speaks all recordings of a language, so it tells voices apart as"
        " much as languages.",
    ]
    if any(measurement.prepared is None for measurement in measurements):
        lines.append("'?': this system does not tell how often a file is opened (inotify).")
    if machine.load > machine.cores / 2:
        lines.append(
            f"Other programs kept this machine busy when the demo began (load {machine.load} on"
            f" {machine.cores} cores), so the figures are worse and less even than they could be."
        )
    return [*lines, *_gains(measurements)]


def figures(
    machine: Machine,
    recordings: Recordings,
    batch_size: int,
    preparation: Preparation,
    measurements: Sequence[Measurement],
) -> dict[str, Any]:
    """Returns everything that was measured, as JSON has it."""
    return {
        "machine": {**dataclasses.asdict(machine), "accelerators": [*machine.accelerators]},
        "python": platform.python_version(),
        "batch_size": batch_size,
        "train_rows": len(recordings.train),
        "validation_rows": len(recordings.validation),
        "preparation_seconds": {
            name: round(value, 5) for name, value in dataclasses.asdict(preparation).items()
        },
        "fixed_step_seconds": round(preparation.step_seconds, 5),
        "runs": [measurement.figures() for measurement in measurements],
    }


def _gains(measurements: Sequence[Measurement]) -> list[str]:
    """Returns how many times the steps of the scripts audio_input_fn made, by scenario."""
    lines = []
    words = {"fixed": "With the fixed step", "own": "With the model's own step"}
    for scenario, opening in words.items():
        rates = {
            (m.variant, m.reader.partition(" ")[0]): m.steps_per_second
            for m in measurements
            if m.scenario == scenario
        }
        library = rates["audio_input_fn", "TensorFlow"]
        lines.append(
            f"{opening}, audio_input_fn made {library / rates['as written', 'Python']:.1f} times"
            " the steps per second of the script with the reader in Python, and"
            f" {library / rates['as written', 'TensorFlow']:.1f} times those of the one in"
            " TensorFlow."
        )
    return lines
