"""Runs every variant in every scenario, one after the other, and measures each alike."""

from __future__ import annotations

import dataclasses
import gc
import math
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from estimator_io.demo.calibration import preparation_seconds
from estimator_io.demo.data import Recordings
from estimator_io.demo.measurement import Measurement, Steps
from estimator_io.demo.open_counter import OpenCounter
from estimator_io.demo.progress import Progress
from estimator_io.demo.readers import python_reader, read_with_tensorflow
from estimator_io.demo.step_clock import StepClock
from estimator_io.demo.trace import Activity, Tracer
from estimator_io.demo.variants import (
    Run,
    Variant,
    every_variant,
    library_input_fn,
    script_input_fn,
)

__all__ = ["SCENARIOS", "Preparation", "Result", "prepare_alone", "run_all"]

SCENARIOS = ("fixed", "own")
TRACED_STEPS = 36


@dataclasses.dataclass(frozen=True)
class Preparation:
    """Seconds that the preparation of a batch takes alone.

    Attributes:
      python: in the script as people write it, with its reader in Python.
      tensorflow: in the same script, with its reader in TensorFlow operations.
      library: with `audio_input_fn`.
    """

    python: float
    tensorflow: float
    library: float

    @property
    def step_seconds(self) -> float:
        """The fixed step: half of what the script with the reader in Python takes for a batch."""
        return self.python / 2


@dataclasses.dataclass(frozen=True)
class Result:
    """A run's figures, and what was done when in the steps that were traced."""

    measurement: Measurement
    traced: Steps
    activity: Activity


def prepare_alone(recordings: Recordings, batch_size: int) -> Preparation:
    """Returns how long a batch of training rows takes to prepare while no step runs."""
    batches = math.ceil(len(recordings.train) / batch_size)

    def script(reader) -> float:
        function = script_input_fn(recordings, "train", reader=reader, batch_size=batch_size)
        return preparation_seconds(function, batches)

    library = library_input_fn(recordings, "train", batch_size=batch_size).for_mode("train")
    return Preparation(
        python=script(python_reader()[1]),
        tensorflow=script(read_with_tensorflow),
        library=preparation_seconds(library, batches),
    )


def run_all(
    recordings: Recordings, *, steps: int, batch_size: int, step_seconds: float, progress: Progress
) -> Iterator[Result]:
    """Yields the result of each variant, first with the fixed step, then with the model's own."""
    for scenario in SCENARIOS:
        for variant in every_variant():
            progress.start_run(f"{_SHORT[scenario]}: {variant.name}, reader in {variant.reader}")
            yield _run(
                recordings,
                variant,
                scenario,
                steps=steps,
                batch_size=batch_size,
                step_seconds=step_seconds if scenario == "fixed" else None,
                progress=progress,
            )
            gc.collect()  # the next run shall not pay for this one's graphs


_SHORT = {"fixed": "fixed step", "own": "own step"}


def _run(
    recordings: Recordings,
    variant: Variant,
    scenario: str,
    *,
    steps: int,
    batch_size: int,
    step_seconds: float | None,
    progress: Progress,
) -> Result:
    # The first step also builds what is built once, the last also saves; neither is timed.
    traced = (steps - 1 - min(TRACED_STEPS, steps // 3), steps - 1)
    folders = {str(Path(file).parent) for file in recordings.train + recordings.validation}
    with (
        tempfile.TemporaryDirectory(prefix="estimator-io-demo-model-") as model_dir,
        Tracer(*traced) as tracer,
        OpenCounter(folders) as counter,
    ):
        clock = StepClock([tracer, counter, progress])
        run = Run(recordings, steps, batch_size, step_seconds, model_dir, clock)
        tf.keras.backend.clear_session()
        # The header of one file is read to learn the sample rate; the count is of preparations.
        began = time.perf_counter()
        accuracy = variant.train(run)
        wall = time.perf_counter() - began - tracer.seconds
        counter.collect()
        every_step = Steps.of(clock)
        measurement = Measurement(
            scenario=scenario,
            variant=variant.name,
            reader=variant.reader,
            wall_seconds=wall,
            steps=every_step,
            timed=(1, traced[0]),
            prepared=counter.count,
            evaluated=clock.evaluations * len(recordings.validation),
            accuracy=accuracy,
        )
        return Result(measurement, every_step.part(*traced), tracer.activity())
