"""What exporters are given where there is no Estimator: a Keras model with an Estimator's face."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import NoDataError
from migration.callbacks.capture import capture_of
from migration.fitting.batches import Batches
from migration.loop.checkpoints import CheckpointFolder
from migration.loop.evaluation import folder_of
from migration.loop.events import EventFolders
from migration.loop.hooks import evaluation_callbacks_of
from migration.loop.keras_state import KerasState
from migration.loop.timing import Clock
from migration.serving.export import export_saved_model

__all__ = ["KerasEstimator"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


class KerasEstimator:
    """Evaluates and exports checkpoints of a Keras model; what a tf.estimator.Exporter asks for.

    Attributes:
      model_dir: the folder of checkpoints, events and exports.
      config: the RunConfig.
      params: of the input functions.

    Args:
      state: the model.
      folder: its checkpoints.
      events: its event files.
      batches: makes its Datasets.
      config: the RunConfig.
      params: of the input functions.
      clock: names the folders of exports.
    """

    def __init__(
        self,
        state: KerasState,
        folder: CheckpointFolder,
        events: EventFolders,
        batches: Batches,
        *,
        config: Any,
        params: Mapping[str, Any] | None,
        clock: Clock,
    ) -> None:
        self.model_dir = folder.folder
        self.config = config
        self.params = dict(params or {})
        self._state = state
        self._folder = folder
        self._events = events
        self._batches = batches
        self._clock = clock

    @property
    def model(self) -> Any:
        """The Keras model, for exporters that know it."""
        return self._state.model

    def latest_checkpoint(self) -> str | None:
        """Returns the prefix of the newest checkpoint."""
        return self._folder.newest()

    def evaluate(
        self,
        input_fn: Any,
        steps: int | None = None,
        hooks: Sequence[Any] | None = None,
        checkpoint_path: str | None = None,
        name: str | None = None,
    ) -> dict[str, Any]:
        """Evaluates a checkpoint, and writes its metrics to `eval` or `eval_NAME`.

        Args:
          input_fn: gives the batches of the evaluation.
          steps: at most so many batches; None takes all.
          hooks: of the evaluation.
          checkpoint_path: the newest by default.
          name: of the evaluation.

        Returns:
          What `model.evaluate` returns, as NumPy scalars by name, and "global_step".

        Raises:
          NoDataError: there was no batch.
        """
        checkpoint = checkpoint_path or self.latest_checkpoint()
        dataset = self._batches.evaluation(input_fn, steps)
        with self._as_of(checkpoint), capture_of(self._state.model).unchanged():
            step = self._state.global_step
            values = _evaluated(self._state.model, dataset, evaluation_callbacks_of(hooks))
        metrics = {key: np.float32(values[key]) for key in sorted(values)}
        self._events.write(folder_of(name), {k: float(v) for k, v in metrics.items()}, step)
        self._events.flush()
        return {**metrics, "global_step": np.int64(step)}

    def export_saved_model(
        self,
        export_dir_base: str,
        serving_input_receiver_fn: Any,
        assets_extra: Mapping[str, str] | None = None,
        as_text: bool = False,
        checkpoint_path: str | None = None,
    ) -> str:
        """Exports a checkpoint as `Estimator.export_saved_model` does.

        Returns:
          The folder of the SavedModel, named by the seconds since the epoch.
        """
        with self._as_of(checkpoint_path or self.latest_checkpoint()):
            return export_saved_model(
                self._state.model,
                export_dir_base,
                serving_input_receiver_fn,
                assets_extra=assets_extra,
                as_text=as_text,
                now=self._clock.time(),
            )

    def _as_of(self, checkpoint: str | None) -> contextlib.AbstractContextManager[None]:
        if checkpoint is None or self._state.holds(checkpoint):
            return contextlib.nullcontext()
        return self._state.restored(checkpoint)


class _Counted(_Callback):
    """Counts the batches of an evaluation."""

    batches = 0

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Counts one."""
        del batch, logs
        self.batches += 1


def _evaluated(model: Any, dataset: tf.data.Dataset, callbacks: Sequence[Any]) -> dict[str, Any]:
    counted = _Counted()
    failed: ValueError | None = None
    values: dict[str, Any] = {}
    try:
        values = model.evaluate(
            dataset, verbose=0, return_dict=True, callbacks=[*callbacks, counted]
        )
    except ValueError as error:
        # Keras 2 has no word of its own for an evaluation without a batch.
        if counted.batches or any(True for _ in dataset.take(1)):
            raise
        failed = error
    if not counted.batches:
        raise NoDataError(
            "The evaluation had no batch. Expected: at least one. Look at what the input function"
            " returns in mode 'eval'."
        ) from failed
    return values
