"""The hooks of TrainSpec and EvalSpec as callbacks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import tensorflow as tf

from estimator_io.errors import OptionError
from migration.callbacks.hook_callback import HookCallback
from migration.callbacks.to_callback import to_callback

__all__ = ["callbacks_of", "check_hooks", "evaluation_callbacks_of", "saver_hook_of"]

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback


def callbacks_of(hooks: Iterable[Any] | None) -> list[Any]:
    """Returns a callback for each hook; what is a callback already is taken as it is."""
    return [hook if isinstance(hook, _Callback) else to_callback(hook) for hook in hooks or ()]


def check_hooks(model: Any, hooks: Iterable[Any] | None) -> None:
    """Refuses hooks that ask a model for what it does not have, as far as they say so by then.

    Raises:
      NoSuchTensorError: naming what a hook asks for, and near names.
    """
    for callback in callbacks_of(hooks):
        if isinstance(callback, HookCallback):
            callback.check(model)


def evaluation_callbacks_of(hooks: Iterable[Any] | None) -> list[Any]:
    """Returns callbacks that run hooks in `model.evaluate`."""
    found = callbacks_of(hooks)
    given = list(hooks or ())
    return [c if c is h else EvaluationHook(c) for c, h in zip(found, given, strict=True)]


def saver_hook_of(hooks: Iterable[Any] | None, model_dir: str) -> Any:
    """Returns the CheckpointSaverHook among hooks, which then says when checkpoints are due.

    Raises:
      OptionError: it saves elsewhere, where evaluations would not find its checkpoints.
    """
    kind = tf.compat.v1.train.CheckpointSaverHook
    for hook in hooks or ():
        if type(hook) is kind:
            if hook._checkpoint_dir != model_dir:
                raise OptionError(
                    "A CheckpointSaverHook of the TrainSpec takes the place of the config's"
                    " checkpoints, but saves to another folder than evaluations read. Received:"
                    f" {hook._checkpoint_dir!r}. Expected: {model_dir!r}. Take the hook out, or"
                    " give it the model_dir."
                )
            return hook
    return None


class EvaluationHook(_Callback):
    """Runs the callback of a training hook in an evaluation: its steps are the batches.

    Args:
      training: the callback.
    """

    def __init__(self, training: Any) -> None:
        super().__init__()
        self._training = training

    def on_test_begin(self, logs: Any = None) -> None:
        """Begins the hook."""
        self._training.set_model(self.model)
        self._training.on_train_begin(logs)

    def on_test_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Tells the hook that a step begins."""
        self._training.on_train_batch_begin(batch, logs)

    def on_test_batch_end(self, batch: int, logs: Any = None) -> None:
        """Tells the hook of the step; one that asks to stop ends the evaluation, not training."""
        stopped = getattr(self.model, "stop_training", False)  # Keras 3 has it within fit alone
        self.model.stop_training = False
        self._training.on_train_batch_end(batch, logs)
        asked, self.model.stop_training = self.model.stop_training, stopped
        if asked and not hasattr(self.model, "stop_evaluating"):
            raise OptionError(
                f"The hook {type(self._training.hook).__name__} asked to stop an evaluation, which"
                " Keras 2 cannot. Set EvalSpec(steps=…)."
            )
        if asked:
            self.model.stop_evaluating = True

    def on_test_end(self, logs: Any = None) -> None:
        """Ends the hook."""
        self._training.on_train_end(logs)
