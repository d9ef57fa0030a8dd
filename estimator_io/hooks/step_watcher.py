"""What watches every step, under the Estimator and under fit: a hook and a callback in one."""

from __future__ import annotations

import logging
from typing import Any

import tensorflow as tf

from estimator_io.hooks.graph_stamps import GraphStamps
from estimator_io.hooks.session_loss import loss_among
from estimator_io.hooks.session_steps import SessionSteps
from estimator_io.hooks.steps import MOST, Steps
from estimator_io.hooks.timed_iterator import WaitClock
from estimator_io.hooks.timed_train_function import TimedTrainFunction, clock_of

__all__ = ["StepWatcher", "Steps"]

v1 = tf.compat.v1

# Not known to the type checker, since TensorFlow loads Keras lazily.
_Callback: Any = tf.keras.callbacks.Callback
_Hook: Any = v1.train.SessionRunHook


class StepWatcher(_Callback, _Hook):
    """A SessionRunHook and a Keras callback: both have methods of their own names.

    As a hook it has the graph note times. As a callback it stands around the train function, not
    in `on_train_batch_end`: Keras 3 calls that in a thread unless some callback needs it at once,
    and Keras 2 then copies all logs to the host. Either way it learns of steps many at a time.
    """

    _supports_tf_logs = True  # Keras 2 asks before it copies logs
    needs_loss = False
    seconds_to_wait = 5.0  # for being told of steps, when they are slow

    # -- what subclasses say ---------------------------------------------------------------------

    def began(self, step: int, total: int | None) -> None:
        """Training begins at this global step; `total` steps are to come, as far as is known."""

    def before_step(self) -> None:
        """A step begins; its time is not running yet."""

    def after_steps(self, steps: Steps) -> None:
        """Steps were taken."""

    def steps_to_wait(self) -> int:
        """Returns after how many more steps `after_steps` must be called, at the latest."""
        return MOST

    def ended(self) -> None:
        """Training ends without an error."""

    # -- the hook --------------------------------------------------------------------------------

    _session: SessionSteps | None = None

    def begin(self) -> None:
        """Adds the operations that take the times."""
        self._stamps = GraphStamps(v1.get_default_graph())
        self._step_tensor = v1.train.get_global_step()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Starts to count, also after a session was lost."""
        del coord
        step = 0 if self._step_tensor is None else int(session.run(self._step_tensor))
        fed = self._attached and not self._stamps.waits
        self._session = SessionSteps(self, self._stamps, session, self._clock if fed else None)
        self.began(step, None)

    def before_run(self, run_context: Any) -> Any:
        """Starts a step."""
        steps = self._session
        if steps is None:
            return None
        request = None
        if steps.begin() and self.needs_loss:
            loss = loss_among(run_context.original_args.fetches)
            request = None if loss is None else v1.train.SessionRunArgs(loss)
        return request

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Ends it."""
        del run_context
        if self._session is not None:
            self._session.end(run_values.results)

    def end(self, session: Any) -> None:
        """Tells what there is to tell."""
        del session
        self.catch_up()
        self._session = None
        self.ended()

    def catch_up(self) -> None:
        """Has `after_steps` called with what it was not told of yet."""
        if self._function is not None:
            self._function.tell()
        if self._session is not None:
            self._session.tell()

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
            attach(self)
        else:
            self.began(self._global_step(), self._steps_to_come())
        self._stand_around()

    def _implements_train_batch_hooks(self) -> bool:
        """Tells Keras 2 that it need not call us, unless it calls another: that one may have done.

        Without any to call it saves itself the calls of all callbacks.
        """
        return False

    def on_train_batch_begin(self, batch: int, logs: Any = None) -> None:
        """Takes its place again where another callback has had the train function made anew."""
        del batch, logs
        if self._function is not None and self.model.train_function is not self._function:
            self._function.tell()
            self._stand_around()

    def on_train_end(self, logs: Any = None) -> None:
        """Gives the model its train function back."""
        del logs
        if self._function is not None:
            self._function.tell()
            self._function = None
            TimedTrainFunction.take_away(self.model)
            if not self._attached:  # otherwise the session has called `end`
                self.ended()

    def _stand_around(self) -> None:
        self._function = TimedTrainFunction.around(self.model)
        if not self._attached:
            self._function.add_listener(self)

    def _global_step(self) -> int:
        iterations: Any = getattr(getattr(self.model, "optimizer", None), "iterations", None)
        return 0 if iterations is None else int(iterations.numpy())

    def _steps_to_come(self) -> int | None:
        params = self.params or {}
        steps, epochs = params.get("steps"), params.get("epochs")
        return steps * epochs if steps and epochs else None
