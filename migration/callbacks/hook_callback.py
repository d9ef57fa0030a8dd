"""What every hook under fit has in common: its life, the steps, the stop, and the model's kind."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from migration.callbacks.values import NamedValues

__all__ = ["HookCallback"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


class HookCallback(_Callback):
    """A SessionRunHook as a Keras callback.

    Subclasses say what the hook does at four times: `started`, `before_step`, `after_step` and
    `ended`. They see the global step as the optimizer counts it. As under the Estimator, nothing is
    `ended` when training fails.

    A model with a session of its own, such as `ModelFnModel`, takes the hook into it instead: then
    TensorFlow itself calls the hook, and this callback does nothing more.

    Attributes:
      hook: the SessionRunHook.
      steps_taken: by the last execution; more than 1 with steps_per_execution.

    Args:
      hook: the SessionRunHook.
      tensors: the model's names for names that the hook uses.
    """

    def __init__(self, hook: Any, tensors: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.hook = hook
        self._tensors = dict(tensors or {})
        self._values: NamedValues | None = None  # None outside of training
        self.steps_taken = 0

    # -- what subclasses say ---------------------------------------------------------------------

    def started(self, step: int) -> None:
        """Training begins at this global step; what cannot be is an error now."""

    def before_step(self, step: int) -> None:
        """A step begins, with the global step before it."""

    def after_step(self, before: int, step: int) -> None:
        """A step was taken.

        Args:
          before: the global step that the train step saw. Of several steps in one execution, that
            of the last.
          step: the global step now.
        """

    def ended(self, step: int) -> None:
        """Training ends without an error."""

    # -- what they use ---------------------------------------------------------------------------

    @property
    def values(self) -> NamedValues:
        """What the model can be asked for."""
        assert self._values is not None
        return self._values

    def request_stop(self) -> None:
        """Ends training after this step."""
        self.model.stop_training = True

    def names_in_use(self) -> list[str]:
        """Returns the names whose values this hook may still ask for."""
        return []

    def wanted(self) -> list[Any]:
        """Returns the tensors that the hook will ask for, as far as it says so before it begins."""
        return []

    def check(self, model: Any) -> None:
        """Looks up what is wanted of a model, before the hook begins.

        Raises:
          NoSuchTensorError: the model has nothing of that name.
        """
        if not hasattr(model, "attach_hook"):
            values = NamedValues(model, self._tensors)
            for item in self.wanted():
                values.name_of(item)

    # -- what Keras calls ------------------------------------------------------------------------

    def on_train_begin(self, logs: Any = None) -> None:
        """Starts the hook, or hands it to a model that has a session."""
        del logs
        self._values = None
        attach = getattr(self.model, "attach_hook", None)
        if attach is not None:
            attach(self.hook)
            return
        self._values = NamedValues(self.model, self._tensors)
        self.started(self._values.step)

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tells the hook that a step begins."""
        del batch, logs
        if self._values is not None:
            self._values.begin_step()
            self.before_step(self._values.step)

    def on_train_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tells the hook that a step was taken."""
        del batch
        values = self._values
        if values is not None:
            old = values.step
            counted = hasattr(getattr(self.model, "optimizer", None), "iterations")
            new = values.read_step() if counted else old + 1
            self.steps_taken = new - old
            # A hook sees the global step of the train step while it asks for its tensors.
            values.step = max(old, new - 1)
            values.end_step(logs or {})
            self.after_step(values.step, new)
            values.step = new

    def on_test_begin(self, logs: Any = None) -> None:
        """Keeps what an evaluation during training would overwrite."""
        del logs
        if self._values is not None:
            self._values.hold(self.names_in_use())

    def on_train_end(self, logs: Any = None) -> None:
        """Ends the hook."""
        del logs
        if self._values is not None:
            self.ended(self._values.step)
            self._values = None
