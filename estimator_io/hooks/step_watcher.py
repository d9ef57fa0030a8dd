"""What watches every step, under the Estimator and under fit: a hook and a callback in one."""

from __future__ import annotations

import logging
import time
from typing import Any

import tensorflow as tf

from estimator_io.hooks.graph_stamps import GraphStamps
from estimator_io.hooks.session_loss import loss_among
from estimator_io.hooks.timed_iterator import WaitClock
from estimator_io.hooks.timed_train_function import Step, TimedTrainFunction, clock_of

__all__ = ["Step", "StepWatcher"]

v1 = tf.compat.v1

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback
_Hook: Any = v1.train.SessionRunHook


class StepWatcher(_Callback, _Hook):
    """A SessionRunHook and a Keras callback: both have methods of their own names.

    As a hook it fetches times that the graph takes. As a callback it stands around the train
    function, not in `on_train_batch_end`: Keras 3 calls that in a thread unless some callback
    needs it at once, and Keras 2 then copies all logs to the host.
    """

    _supports_tf_logs = True  # Keras 2 asks before it copies logs
    needs_loss = False

    # -- what subclasses say ---------------------------------------------------------------------

    def began(self, step: int, total: int | None) -> None:
        """Training begins at this global step; `total` steps are to come, as far as is known."""

    def before_step(self) -> None:
        """A step begins; its time is not running yet."""

    def after_step(self, step: Step) -> None:
        """A step was taken."""

    def ended(self) -> None:
        """Training ends without an error."""

    # -- the hook --------------------------------------------------------------------------------

    def begin(self) -> None:
        """Adds the operations that take the times."""
        self._stamps = GraphStamps(v1.get_default_graph())
        self._step_tensor = v1.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Starts to count, also after a session was lost."""
        del coord
        step = 0 if self._step_tensor is None else int(session.run(self._step_tensor))
        self.began(step, None)

    def before_run(self, run_context: Any) -> Any:
        """Starts a step."""
        fetches = {}
        if self._stamps.fetch is not None:
            fetches["stamps"] = self._stamps.fetch
        if self.needs_loss:
            loss = loss_among(run_context.original_args.fetches)
            if loss is not None:
                fetches["loss"] = loss
        self.before_step()
        self._began = time.time()
        return v1.train.SessionRunArgs(fetches)

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends it."""
        del run_context
        stamps = run_values.results.get("stamps")
        loss = run_values.results.get("loss")
        if stamps is None:
            waiting, done = self._waited_outside(), time.time()
            self._began -= waiting or 0.0  # the batch was there before the session ran
        else:
            asked, got = stamps[0], stamps[1]
            waiting = max(0.0, float(got - asked))
            done = float(stamps[2]) if len(stamps) == 3 else time.time()
        seconds = max(done - self._began, waiting or 0.0)
        self.after_step(Step(seconds, waiting, 1, lambda: None if loss is None else float(loss)))

    def end(self, session: Any) -> None:
        """Tells what there is to tell."""
        del session
        self.ended()

    def _waited_outside(self) -> float | None:
        """Returns the wait for a batch that is fed to the graph by a model with a session."""
        if not self._attached or self._clock is None:
            return None
        before, self._outside = self._outside, self._clock.read_untraced()
        batches = self._outside[1] - before[1]
        return float(self._outside[0] - before[0]) if batches else None

    # -- the callback ----------------------------------------------------------------------------

    _clock: WaitClock | None = None
    _attached = False  # to the session of the model
    _function: TimedTrainFunction | None = None

    def set_model(self, model: Any) -> None:
        """Takes away what an earlier call of fit that failed has left."""
        super().set_model(model)
        TimedTrainFunction.take_away(model)
        self._function = None

    def on_train_begin(self, logs: Any = None) -> None:
        """Stands around the train function, or hands the hook to a model that has a session."""
        del logs
        if not tf.executing_eagerly():
            logging.getLogger("estimator_io").warning(
                "%s sees nothing of a fit that does not run eagerly", type(self).__name__
            )
            return
        self._clock = clock_of(self.model)
        attach = getattr(self.model, "attach_hook", None)
        self._attached = attach is not None
        if attach is not None:
            self._outside = self._clock.read_untraced()
            attach(self)
        else:
            self.began(self._global_step(), self._steps_to_come())
        self._stand_around()

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Takes its place again where another callback has had the train function made anew."""
        del batch, logs
        if self._function is not None and self.model.train_function is not self._function:
            self._stand_around()

    def on_train_end(self, logs: Any = None) -> None:
        """Gives the model its train function back."""
        del logs
        if self._function is not None:
            self._function = None
            TimedTrainFunction.take_away(self.model)
            if not self._attached:  # otherwise the session has called `end`
                self.ended()

    def _stand_around(self) -> None:
        self._function = TimedTrainFunction.around(self.model)
        if not self._attached:
            self._function.listeners.append(self)

    def _global_step(self) -> int:
        iterations: Any = getattr(getattr(self.model, "optimizer", None), "iterations", None)
        return 0 if iterations is None else int(iterations.numpy())

    def _steps_to_come(self) -> int | None:
        params = self.params or {}
        steps, epochs = params.get("steps"), params.get("epochs")
        return steps * epochs if steps and epochs else None
