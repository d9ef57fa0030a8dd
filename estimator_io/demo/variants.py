"""The ways to feed the classifier that are compared."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

import estimator_io
from estimator_io.demo import as_written
from estimator_io.demo.data import TRAIN_SHARE, Recordings
from estimator_io.demo.features import spectrogram_batch
from estimator_io.demo.keras_callback import StepCallback
from estimator_io.demo.keras_model import build_model
from estimator_io.demo.model_fn import model_fn
from estimator_io.demo.readers import Reader, python_reader, read_with_tensorflow
from estimator_io.demo.step_clock import StepClock
from estimator_io.demo.step_hook import EvaluationCounter, StepHook
from estimator_io.pipeline.input_fn import StagedInputFn

__all__ = ["Run", "Variant", "every_variant", "library_input_fn", "script_input_fn"]

EVALUATIONS = 2  # half way and at the end
SEED = 7


@dataclasses.dataclass(frozen=True)
class Run:
    """What one training run is to do.

    Attributes:
      recordings: what to train and evaluate on.
      steps: training steps, an even number.
      batch_size: rows a batch.
      step_seconds: None for the model's own step, or the length of one that only waits.
      model_dir: an empty folder.
      clock: what the steps are noted in.
    """

    recordings: Recordings
    steps: int
    batch_size: int
    step_seconds: float | None
    model_dir: str
    clock: StepClock


@dataclasses.dataclass(frozen=True)
class Variant:
    """One way to feed the classifier.

    Attributes:
      name: how the input_fn is written, and who trains.
      reader: what reads the recordings.
      train: trains and evaluates, and returns the last accuracy, None where nothing is trained.
    """

    name: str
    reader: str
    train: Callable[[Run], float | None]


def every_variant() -> list[Variant]:
    """Returns the variants in the order of the table.

    Raises:
      CompatibilityError: no library for the reader in Python is installed.
    """
    library, reader = python_reader()
    return [
        Variant("as written", f"Python ({library})", _train_as_written(reader)),
        Variant("as written", "TensorFlow", _train_as_written(read_with_tensorflow)),
        Variant("audio_input_fn", "TensorFlow", _train_with_library),
        Variant("same, model.fit", "TensorFlow", _fit_with_library),
    ]


def script_input_fn(
    recordings: Recordings, part: str, *, reader: Reader, batch_size: int
) -> Callable[[], Any]:
    """Returns the input_fn of the script as people write it, behind its lambda."""
    files = getattr(recordings, part)
    labels = recordings.labels(files)
    return lambda: as_written.input_fn(
        files,
        labels,
        reader=reader,
        length=recordings.length,
        batch_size=batch_size,
        epochs=None if part == "train" else 1,
    )


def library_input_fn(recordings: Recordings, part: str, *, batch_size: int) -> StagedInputFn:
    """Returns the same rows as an `InputFn`."""
    return estimator_io.audio_input_fn(
        recordings.pattern,
        length=recordings.length,
        # Given here, so that no file is opened to learn them: each opening counts as a preparation.
        sample_rate=recordings.sample_rate,
        channels=1,
        split=(part, TRAIN_SHARE),
        batch_size=batch_size,
        batch_map=spectrogram_batch,
        seed=SEED,
    )


def _train_as_written(reader: Reader) -> Callable[[Run], float | None]:
    def train(run: Run) -> float | None:
        def part(name: str) -> Callable[[], Any]:
            return script_input_fn(run.recordings, name, reader=reader, batch_size=run.batch_size)

        return _train_and_evaluate(run, part("train"), part("validation"))

    return train


def _train_with_library(run: Run) -> float | None:
    def part(name: str) -> StagedInputFn:
        return library_input_fn(run.recordings, name, batch_size=run.batch_size)

    return _train_and_evaluate(run, part("train"), part("validation"))


def _train_and_evaluate(run: Run, train_input_fn: Any, eval_input_fn: Any) -> float | None:
    params = {"classes": len(run.recordings.languages), "step_seconds": run.step_seconds}
    config = tf.estimator.RunConfig(run.model_dir, save_checkpoints_steps=run.steps // EVALUATIONS)
    estimator = tf.estimator.Estimator(model_fn, config=config, params=params)
    train_spec = tf.estimator.TrainSpec(
        train_input_fn, max_steps=run.steps, hooks=[StepHook(run.clock)]
    )
    eval_spec = tf.estimator.EvalSpec(
        eval_input_fn, steps=None, throttle_secs=0, hooks=[EvaluationCounter(run.clock)]
    )
    result, _ = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    return None if run.step_seconds is not None else float(result["accuracy"])


def _fit_with_library(run: Run) -> float | None:
    train = library_input_fn(run.recordings, "train", batch_size=run.batch_size)
    validation = library_input_fn(run.recordings, "validation", batch_size=run.batch_size)
    tf.keras.utils.set_random_seed(SEED)
    model, stamp = build_model(
        train.element_spec,
        classes=len(run.recordings.languages),
        step_seconds=run.step_seconds,
    )
    history = model.fit(
        train.dataset("train"),
        steps_per_epoch=run.steps // EVALUATIONS,
        epochs=EVALUATIONS,
        validation_data=validation.dataset("eval"),
        callbacks=[StepCallback(run.clock, stamp)],
        verbose=0,
    )
    return None if run.step_seconds is not None else float(history.history["val_accuracy"][-1])
