"""Runs one call of an Estimator in a thread of its own, one step whenever the caller asks.

An Estimator's train, evaluate and predict loop on their own. Here a hook holds the loop before each
step until the next batch is handed over, so that another loop, such as that of `Model.fit`, takes
the steps, while sessions, hooks, checkpoints and summaries remain the Estimator's own.
"""

from __future__ import annotations

import collections
import dataclasses
import logging
import queue
import threading
from collections.abc import Callable, Mapping
from typing import Any

import tensorflow as tf

from estimator_io.errors import ModeError
from migration.model_fn.ahead import Block

__all__ = ["AbandoningHook", "Ended", "StepHook", "SteppedCall"]

_log = logging.getLogger("estimator_io")
# Seconds that a call has to unwind once it is given up; it could be in the middle of a long step.
_PATIENCE = 10.0


class Ended(Exception):  # noqa: N818 (no error: the call took its last step)
    """The call has ended: its input is exhausted, or a hook asked to stop."""


class _AbandonedError(Exception):
    """Unwinds a call that nobody will finish."""


@dataclasses.dataclass(frozen=True)
class _Steps:
    """`count` steps, each on `feed`: values by placeholder."""

    feed: Mapping[Any, Any]
    count: int


@dataclasses.dataclass(frozen=True)
class _Visit:
    """Something to do with the session between two steps."""

    function: Callable[[Any], Any]


@dataclasses.dataclass(frozen=True)
class _End:
    """No more steps."""

    error: Exception


@dataclasses.dataclass(frozen=True)
class _Answer:
    """What came of a command: a list of the results of steps, or the result or error of a visit."""

    value: Any = None
    error: BaseException | None = None
    visit: bool = False


@dataclasses.dataclass(frozen=True)
class _Over:
    """The call returned `value`, after last steps that `steps` answers, or raised `error`."""

    value: Any = None
    error: BaseException | None = None
    steps: _Answer | None = None


class StepHook(tf.compat.v1.train.SessionRunHook):
    """Holds the loop before each step until `SteppedCall` hands over a batch.

    Args:
      fetches: returns what a step shall give back, once the graph is built.
    """

    def __init__(self, fetches: Callable[[], Any]) -> None:
        self._fetches = fetches
        self._fetched: Any = None
        self.commands: queue.SimpleQueue = queue.SimpleQueue()
        self.answers: queue.SimpleQueue = queue.SimpleQueue()
        self._results: list[Any] = []  # of the last command, given when all hooks saw them
        self._left = 0  # steps of the last command that were not taken
        self._arguments: Any = None
        self._session: Any = None

    def begin(self) -> None:
        """Asks for the fetches while the graph may still grow, and before another call's graph."""
        self._fetched = self._fetches()

    def after_create_session(self, session: Any, coord: Any) -> None:
        """Notes the session, also the one of a recovery."""
        del coord
        self._session = session

    def before_run(self, run_context: Any) -> Any:
        """Waits for the next batch; a step that a lost session did not finish is taken again."""
        del run_context
        if not self._left:
            steps = self._next_steps()
            self._left = steps.count
            self._arguments = tf.compat.v1.train.SessionRunArgs(self._fetched, steps.feed)
        return self._arguments

    def after_run(self, run_context: Any, run_values: Any) -> None:
        """Keeps the results until every other hook has seen them too."""
        del run_context
        self._left -= 1
        self._results.append(run_values.results)

    def take_answer(self) -> _Answer | None:
        """Returns what came of the steps since the last answer, or None without any."""
        results, self._results = self._results, []
        return _Answer(results) if results else None

    @property
    def has_session(self) -> bool:
        """Whether the variables have been initialized or restored."""
        return self._session is not None

    def look(self, function: Callable[[Any], Any]) -> Any:
        """Returns `function(session)`, called in the thread of the call, as by another hook."""
        if self._session is None:
            raise ModeError(
                "The model has no values yet: its graph is still being built. Look at it from"
                " after_create_session on."
            )
        return function(self._session)

    def _next_steps(self) -> _Steps:
        answer = self.take_answer()
        if answer is not None:
            self.answers.put(answer)
        while True:
            command = self.commands.get()
            if isinstance(command, _Steps):
                return command
            if isinstance(command, _End):
                raise command.error
            try:
                self.answers.put(_Answer(command.function(self._session), visit=True))
            except Exception as error:
                self.answers.put(_Answer(error=error, visit=True))


class AbandoningHook(tf.compat.v1.train.SessionRunHook):
    """Ends another call of the Estimator, made within a stepped one, when that one is given up.

    Args:
      outer: returns the `SteppedCall`, or None where there is none.
    """

    def __init__(self, outer: Callable[[], SteppedCall | None]) -> None:
        self._outer = outer
        self._call: SteppedCall | None = None

    def begin(self) -> None:
        """Notes the call within which this one was made."""
        self._call = self._outer()

    def before_run(self, run_context: Any) -> None:
        """Unwinds both, if it is given up."""
        del run_context
        if self._call is not None and self._call.abandoned:
            raise _AbandonedError


class SteppedCall:
    """A call of an Estimator that takes a step when it is told to.

    Args:
      call: makes the call, given the hook that it must pass on; runs in a thread of its own.
      fetches: returns what each step gives back, once the graph is built.
    """

    def __init__(self, call: Callable[[StepHook], Any], fetches: Callable[[], Any]) -> None:
        self._hook = StepHook(fetches)
        self._over: _Over | None = None
        self._graph_is_built = False
        self._asked = 0  # steps that no answer has been taken of
        self._block = Block()
        self._results: collections.deque[Any] = collections.deque()  # of steps, in their order
        self._ending = False
        # Keras's thread steps; others may look meanwhile, and must not take its answers.
        self._turn = threading.RLock()
        self.abandoned = False
        self._thread = threading.Thread(
            target=self._run, args=(call,), name="estimator-call", daemon=True
        )
        self._thread.start()

    @property
    def block(self) -> int:
        """Steps that are handed over at once, where they are allowed ahead."""
        return self._block.steps

    @property
    def over(self) -> bool:
        """Whether the call has returned or raised, as far as it has told."""
        return self._over is not None

    @property
    def running(self) -> bool:
        """Whether the call may take another step, as far as it has told."""
        return self._over is None and not self._ending

    @property
    def ended(self) -> bool:
        """Whether `step` has nothing more to give, as far as the call has told."""
        return not self.running and not self._results

    def step(
        self, feed: Mapping[Any, Any] | Callable[[], Mapping[Any, Any]], *, ahead: int = 0
    ) -> Any:
        """Takes one step.

        Args:
          feed: values by placeholder, or what makes them once the graph is built.
          ahead: how many steps more, on the same feed, the call may take before it is asked for
            them. Nobody must look at the session in between.

        Returns:
          The values of the fetches.

        Raises:
          Ended: the call had ended before this step.
          Exception: what the call raised.
        """
        with self._turn:
            if callable(feed):
                if not self._graph_is_built:
                    self.visit(lambda _: None)  # the graph is built once the hook listens
                feed = feed() if self._over is None else {}
            self._hand_over(feed, 1 + ahead - self._asked - len(self._results))
            while self._over is None and not self._results:
                self._take()
            if self._results:
                return self._results.popleft()
            raise self._error()

    def _hand_over(self, feed: Mapping[Any, Any], allowed: int) -> None:
        """Asks for some of the allowed steps: for one block beside the one that is being taken."""
        while self._over is None and allowed > 0 and self._asked <= self._block.steps:
            count = min(self._block.steps, allowed)
            self._hook.commands.put(_Steps(feed, count))
            self._asked += count
            allowed -= count

    def visit(self, function: Callable[[Any], Any]) -> Any:
        """Returns `function(session)`, called between two steps in the thread of the call.

        Any thread may visit, and a hook of the call too.
        """
        if threading.current_thread() is self._thread:
            return self._hook.look(function)
        with self._turn:
            self._hook.commands.put(_Visit(function))
            while self._over is None:
                answer = self._take()
                if answer is not None:
                    if answer.error is not None:
                        raise answer.error
                    return answer.value
            raise self._error()

    def finish(self) -> Any:
        """Ends the call as exhausted input does, and returns what it returned."""
        self._end(tf.errors.OutOfRangeError(None, None, "The caller takes no more steps."))
        self._thread.join()
        assert self._over is not None
        if self._over.error is not None:
            raise self._over.error
        return self._over.value

    def abandon(self) -> None:
        """Ends the call as an error does: hooks do not see an end, nothing is saved.

        What takes too long to end, such as a step of minutes, is left to end in its thread.
        """
        self.abandoned = True
        try:
            self._end(_AbandonedError(), _PATIENCE)
        except queue.Empty:
            _log.warning("a call of the Estimator is left to end behind its current step")
            return
        self._thread.join(_PATIENCE)

    def _take(self, seconds: float | None = None) -> _Answer | None:
        """Waits for the next answer; keeps that of a step, and returns that of a visit."""
        answer = self._hook.answers.get(timeout=seconds)
        self._graph_is_built = True
        if isinstance(answer, _Over):
            self._over, answer = answer, answer.steps
        if answer is None:
            return None
        if answer.visit:
            return answer
        self._asked -= len(answer.value)
        self._results.extend(answer.value)
        self._block.took(len(answer.value))
        return None

    def _error(self) -> BaseException:
        """Returns what a call that is over tells whoever wants another step."""
        assert self._over is not None
        return Ended() if self._over.error is None else self._over.error

    def _end(self, error: Exception, seconds: float | None = None) -> None:
        self._ending = True
        with self._turn:
            if self._over is None:
                self._hook.commands.put(_End(error))
                while self._over is None:
                    self._take(seconds)

    def _run(self, call: Callable[[StepHook], Any]) -> None:
        try:
            value = call(self._hook)
        except BaseException as error:
            self._hook.answers.put(_Over(error=error))
        else:
            self._hook.answers.put(_Over(value=value, steps=self._hook.take_answer()))
