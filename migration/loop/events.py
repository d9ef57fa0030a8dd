"""Event files as the Estimator writes them: scalars that TensorBoard and BestExporter read."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

__all__ = ["EventFolders", "NoEvents"]

v1 = tf.compat.v1


class EventFolders:
    """Event files below a model_dir, opened when they are first written to.

    Scalars are written as simple values, like those of the Estimator: tf.summary writes tensors,
    which tf.estimator.BestExporter and older readers pass over.

    Args:
      model_dir: where training writes; evaluations write to folders in it.
    """

    def __init__(self, model_dir: str) -> None:
        self._model_dir = model_dir
        self._writers: dict[str, Any] = {}

    def start(self, step: int) -> None:
        """Notes that training starts behind `step`: TensorBoard drops what lay beyond it."""
        log = v1.SessionLog(status=v1.SessionLog.START)
        self._writer("").add_session_log(log, step)

    def write(self, folder: str, values: Mapping[str, float], step: int) -> None:
        """Writes scalars of `step`.

        Args:
          folder: below model_dir: "" for training, "eval" or "eval_NAME".
          values: by tag.
          step: the global step.
        """
        summary = v1.Summary()
        for tag, value in values.items():
            summary.value.add(tag=tag, simple_value=value)
        self._writer(folder).add_summary(summary, step)

    def flush(self) -> None:
        """Lets readers see what was written."""
        for writer in self._writers.values():
            writer.flush()

    def close(self) -> None:
        """Closes the files; what is written next begins others."""
        for writer in self._writers.values():
            writer.close()
        self._writers.clear()

    def _writer(self, folder: str) -> Any:
        if folder not in self._writers:
            with tf.Graph().as_default():  # the writer refuses to be made eagerly
                path = os.path.join(self._model_dir, folder)
                self._writers[folder] = v1.summary.FileWriter(path)
        return self._writers[folder]


class NoEvents(EventFolders):
    """Those of a worker that is not the chief."""

    def start(self, step: int) -> None:
        """Does nothing."""

    def write(self, folder: str, values: Mapping[str, float], step: int) -> None:
        """Does nothing."""
