"""Runs every variant in every scenario, one after the other, and measures each alike."""

from __future__ import annotations

import dataclasses
import gc
import math
import tempfile
import time
from collections.abc import Iterator

import tensorflow as tf

from estimator_io.demo.calibration import preparation_seconds
from estimator_io.demo.data import Recordings
from estimator_io.demo.measurement import Measurement, Steps
from estimator_io.demo.open_counter import OpenCounter
from estimator_io.demo.progress import Progress
from estimator_io.demo.readers import Reader, python_reader, read_with_tensorflow
from estimator_io.demo.step_clock import StepClock
from estimator_io.demo.trace import Activity, Tracer
from estimator_io.demo.variants import (
    Run,
    Variant,
    every_variant,
    library_input_fn,
    script_input_fn,
)

__all__ = ["SCENARIOS", "Job", "Preparation", "Result", "prepare_alone", "run_all"]

SCENARIOS = {"fixed": "fixed step", "own": "own step"}
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
class Job:
    """What every run has in common.

    Attributes:
      recordings: what to train and evaluate on.
      steps: training steps of each run, an even number.
      batch_size: rows a batch.
      step_seconds: the length of the fixed step.
    """

    recordings: Recordings
    steps: int
    batch_size: int
    step_seconds: float


@dataclasses.dataclass(frozen=True)
class Result:
    """A run's figures, and what was done when in the steps that were traced."""

    measurement: Measurement
    traced: Steps
    activity: Activity


def prepare_alone(recordings: Recordings, batch_size: int) -> Preparation:
    """Returns how long a batch of training rows takes to prepare while no step runs."""
    batches = math.ceil(len(recordings.train) / batch_size)

    def script(reader: Reader) -> float:
        function = script_input_fn(recordings, "train", reader=reader, batch_size=batch_size)
        return preparation_seconds(function, batches)

    library = library_input_fn(recordings, "train", batch_size=batch_size).for_mode("train")
    return Preparation(
        python=script(python_reader()[1]),
        tensorflow=script(read_with_tensorflow),
        library=preparation_seconds(library, batches),
    )


def run_all(job: Job, progress: Progress) -> Iterator[Result]:
    """Yields the result of each variant, first with the fixed step, then with the model's own."""
    for scenario, words in SCENARIOS.items():
        for variant in every_variant():
            progress.start_run(f"{words}: {variant.name}, reader in {variant.reader}")
            yield _run(job, variant, scenario, progress)
            gc.collect()  # the next run shall not pay for this one's graphs


def _run(job: Job, variant: Variant, scenario: str, progress: Progress) -> Result:
    # The first step also builds what is built once, the last also saves; neither is timed.
    traced = (job.steps - 1 - min(TRACED_STEPS, job.steps // 3), job.steps - 1)
    with (
        tempfile.TemporaryDirectory(prefix="estimator-io-demo-model-") as model_dir,
        Tracer(*traced) as tracer,
        OpenCounter(job.recordings.folders) as counter,
    ):
        clock = StepClock([tracer, counter, progress])
        step_seconds = job.step_seconds if scenario == "fixed" else None
        run = Run(job.recordings, job.steps, job.batch_size, step_seconds, model_dir, clock)
        tf.keras.backend.clear_session()
        began = time.perf_counter()
        accuracy = variant.train(run)
        wall = time.perf_counter() - began - tracer.seconds
        counter.collect()
        measurement = Measurement(
            scenario=scenario,
            variant=variant.name,
            reader=variant.reader,
            wall_seconds=wall,
            steps=Steps.of(clock),
            timed=(1, traced[0]),
            prepared=counter.count,
            evaluated=clock.evaluations * len(job.recordings.validation),
            accuracy=accuracy,
        )
        return Result(measurement, measurement.steps.part(*traced), tracer.activity())
