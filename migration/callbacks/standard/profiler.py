"""ProfilerHook under fit."""

from __future__ import annotations

import json
import pathlib
import tempfile
from typing import Any

import tensorflow as tf

from migration.callbacks.chrome_trace import chrome_trace
from migration.callbacks.hook_callback import HookCallback

__all__ = ["ProfilerCallback"]


class ProfilerCallback(HookCallback):
    """Writes `timeline-STEP.json` at the hook's steps or seconds, in Chrome's trace format.

    The hook has its session record each operation; here TensorFlow's profiler runs for one step.
    """

    _folder: Any = None  # while the profiler runs

    def started(self, step: int) -> None:
        """Nothing is recorded before the hook's first interval is over."""
        del step
        self._next_step: int | None = None

    def before_step(self, step: int) -> None:
        """Starts the profiler, if it is time."""
        del step
        if self._next_step is None or not self.hook._timer.should_trigger_for_step(self._next_step):
            return
        folder = tempfile.TemporaryDirectory(prefix="estimator-io-profiler-")
        try:
            tf.profiler.experimental.start(folder.name)
        except tf.errors.AlreadyExistsError:
            folder.cleanup()
            tf.compat.v1.logging.warning(
                "No timeline for step %d: another profile is being taken.", self._next_step
            )
        else:
            self._folder = folder

    def after_step(self, before: int, step: int) -> None:
        """Stops it and writes the file."""
        if self._next_step is None:
            self.hook._timer.update_last_triggered_step(before)
        self._next_step = step + 1
        if self._folder is None:
            return
        tf.profiler.experimental.stop()
        self.hook._timer.update_last_triggered_step(step)
        path = self.hook._output_file.format(step)
        tf.compat.v1.logging.info("Saving timeline for %d into '%s'.", step, path)
        with self._folder:
            trace = chrome_trace(pathlib.Path(self._folder.name))
        self._folder = None
        with tf.io.gfile.GFile(path, "w") as file:
            file.write(json.dumps(trace))
