"""Accelerates every input_fn that a program hands to an Estimator, and tells what came of it."""

from __future__ import annotations

import dataclasses
import importlib
import random
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from estimator_io.errors import EstimatorIOError, SourceError
from estimator_io.legacy.accelerate import AcceleratedInputFn, accelerate
from estimator_io.legacy.changes import Change, describe_changes
from estimator_io.legacy.function import one_line
from estimator_io.pipeline.interface import InputFn
from estimator_io.runner.places import standing_place
from estimator_io.runner.waiting import Waiting, WaitingHook, waiting_tensor
from estimator_io.runner.watch import Watch

__all__ = ["INPUT_SECONDS", "Acceleration"]

INPUT_SECONDS = 600.0  # an input_fn may prepare data of its own
FIRST_STEP_SECONDS = 60.0  # a shuffle buffer may take long to fill, so that is no error
_FEW_BATCHES = 20
_SHORT_SECONDS = 0.2
_KEPT = 16  # functions that are used again; programs make any number of lambdas
_ESTIMATORS = "tensorflow_estimator.python.estimator"


@dataclasses.dataclass
class Seen:
    """What is known about one input_fn in one mode.

    Attributes:
      title: its name, place and mode.
      changes: what was changed, and what was left.
      waiting: how long steps waited for it.
    """

    title: str
    changes: list[Change]
    waiting: Waiting = dataclasses.field(default_factory=Waiting)


class Acceleration:
    """Stands between Estimators and the input functions that they are handed.

    Args:
      options: of `accelerate`.
      compare_seconds: how long each pipeline is measured as written, and accelerated, before it is
        used; None does not measure.
      input_seconds: that a call of an input_fn may take before it ends the process.
    """

    def __init__(
        self,
        options: Mapping[str, Any] | None = None,
        compare_seconds: float | None = None,
        input_seconds: float = INPUT_SECONDS,
    ) -> None:
        self._options = dict(options or {})
        self._compare_seconds = compare_seconds
        self._input_seconds = input_seconds
        self._seen: dict[tuple[str, str], Seen] = {}
        self._made: deque[tuple[Any, AcceleratedInputFn]] = deque(maxlen=_KEPT)
        self._endless_refused = threading.local()
        accelerate(dict, **self._options)  # refuses impossible options before the program runs

    def install(self) -> None:
        """Has all Estimators of this process accelerate what they are handed."""
        replacements = {
            "_call_input_fn": self._calling,
            "evaluate": self._evaluating,
            "_get_features_and_labels_from_input_fn": self._timing,
        }
        # EstimatorV2 derives from Estimator, the class of tf.compat.v1.
        base = importlib.import_module(f"{_ESTIMATORS}.estimator").Estimator
        tpu = importlib.import_module(f"{_ESTIMATORS}.tpu.tpu_estimator").TPUEstimator
        for owner in (base, tpu):
            for name, replaced in replacements.items():
                if name in vars(owner):
                    setattr(owner, name, replaced(getattr(owner, name)))

    @property
    def seen(self) -> bool:
        """Whether an Estimator was handed an input_fn that could be used."""
        return bool(self._seen)

    def report(self) -> str:
        """Returns what was changed in each input_fn, and how much of its time steps waited."""
        if not self._seen:
            return "No input_fn was handed to an Estimator."
        parts = []
        for seen in self._seen.values():
            text = describe_changes(seen.title, seen.changes)
            parts.append(f"{text}\n  {seen.waiting.describe()}")
        return "\n".join(parts)

    def _calling(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call_input_fn(
            estimator: Any, input_fn: Any, mode: str, *context: Any, **kw: Any
        ) -> Any:
            if isinstance(input_fn, InputFn):
                return original(estimator, input_fn, mode, *context, **kw)
            fast = self._fast(input_fn)
            if self._compare_seconds is not None and self._key(fast, mode) not in self._seen:
                self._compare(estimator, input_fn, fast, mode, original)
            with self._watch(fast):
                result = original(estimator, fast, mode, *context, **kw)
            seen = self._seen.setdefault(
                self._key(fast, mode), Seen(f"{mode}: {fast}", fast.changes(mode))
            )
            seen.changes = fast.changes(mode)
            if getattr(self._endless_refused, "on", False) and mode == "eval":
                _require_end(result, fast)
            return result

        return call_input_fn

    def _fast(self, input_fn: Any) -> AcceleratedInputFn:
        """Returns the same for the same function, whose calls share a service, rows, processes."""
        for known, fast in self._made:
            if known is input_fn:
                return fast
        fast = accelerate(input_fn, **self._options)
        self._made.append((input_fn, fast))
        return fast

    def _watch(self, fast: AcceleratedInputFn) -> Watch:
        """Returns what ends the process where the input_fn never returns."""
        function, seconds = fast.function, self._input_seconds
        return Watch(
            seconds,
            lambda place: (
                f"estimator-io run: {function.place}: the input_fn {function.name} has not returned"
                f" after {seconds:g} s; it stands at {place}. Mend what it waits for there, or give"
                " more time with --input_seconds."
            ),
        )

    def _key(self, fast: AcceleratedInputFn, mode: str) -> tuple[str, str]:
        return str(fast), mode

    def _evaluating(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def evaluate(
            estimator: Any, input_fn: Any, steps: Any = None, *rest: Any, **kw: Any
        ) -> Any:
            self._endless_refused.on = steps is None
            try:
                return original(estimator, input_fn, steps, *rest, **kw)
            finally:
                self._endless_refused.on = False

        return evaluate

    def _timing(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def features_and_labels(estimator: Any, input_fn: Any, mode: str) -> Any:
            start = tf.timestamp()
            with tf.control_dependencies([start]):
                features, labels, hooks = original(estimator, input_fn, mode)
            seen = self._last(mode)
            if seen is None:
                return features, labels, hooks
            waited = waiting_tensor(start, (features, labels))
            patience = min(FIRST_STEP_SECONDS, self._input_seconds)

            def late() -> None:
                say(_spell_late(seen.title, patience, standing_place()))

            return features, labels, [*hooks, WaitingHook(seen.waiting, waited, patience, late)]

        return features_and_labels

    def _last(self, mode: str) -> Seen | None:
        return next((self._seen[key] for key in reversed(self._seen) if key[1] == mode), None)

    def _compare(
        self,
        estimator: Any,
        input_fn: Any,
        fast: AcceleratedInputFn,
        mode: str,
        call: Callable[..., Any],
    ) -> None:
        states = random.getstate(), np.random.get_state()
        seed, seconds = tf.compat.v1.get_default_graph().seed, self._compare_seconds or 0.0
        rates = []
        for function in (input_fn, fast):

            def made(given: Any = function) -> Any:
                with self._watch(fast):
                    return call(estimator, given, mode)

            try:
                rates.append(_rate(made, seconds, seed))
            except EstimatorIOError:
                raise
            except Exception as error:  # a measurement must not stop the program
                reason = f"cannot be read apart from training: {one_line(error)}"
                say(f"compare: {mode}: {fast}: {reason}")
                break
        random.setstate(states[0])
        np.random.set_state(states[1])
        if len(rates) == 2:
            (number, before), (_, after) = rates
            told = f"as written {before:,.1f} batches/s, accelerated {after:,.1f} batches/s"
            short = number < _FEW_BATCHES or number / before < _SHORT_SECONDS
            few = f" (only {number:,} batches, which tells little)" if short else ""
            say(f"compare: {mode}: {fast}: {told}, {after / before:.2f} times{few}")


def _spell_late(title: str, seconds: float, place: str) -> str:
    stands = f"; Python called from TensorFlow stands at {place}" if place else ""
    return (
        f"warning: {title}: the first step has not ended after {seconds:g} s, most likely since no"
        f" batch has come yet{stands}. It goes on waiting; a large shuffle buffer takes long to"
        " fill. `estimator-io check` reads the input_fn alone. Ctrl-C is heard when a batch comes,"
        " Ctrl-\\ at once."
    )


def say(text: str) -> None:
    """Prints beside what the program prints."""
    print(f"estimator-io run: {text}", file=sys.stderr, flush=True)


def _rate(call: Callable[[], Any], seconds: float, seed: int | None) -> tuple[int, float]:
    """Returns the batches of a pipeline in a graph that is thrown away, and those per second."""
    v1 = tf.compat.v1
    with tf.Graph().as_default():
        v1.set_random_seed(seed)
        v1.train.create_global_step()
        result: Any = call()
        if isinstance(result, (tf.data.Dataset, v1.data.Dataset)):
            iterator: Any = v1.data.make_initializable_iterator(result)
            v1.add_to_collection("table_initializer", iterator.initializer)
            result = iterator.get_next()
        element = [tensor for tensor in tf.nest.flatten(result) if tensor is not None]
        config = v1.ConfigProto(device_count={"GPU": 0})
        creator = v1.train.ChiefSessionCreator(config=config)
        with v1.train.MonitoredSession(creator) as session:
            session.run(element)
            count, start = 0, time.perf_counter()
            try:
                while time.perf_counter() - start < seconds:
                    session.run(element)
                    count += 1
            except tf.errors.OutOfRangeError:
                pass
            return count, max(count, 1) / (time.perf_counter() - start)


def _require_end(result: Any, fast: AcceleratedInputFn) -> None:
    """Refuses an evaluation without a number of steps over a Dataset that never ends."""
    if not isinstance(result, (tf.data.Dataset, tf.compat.v1.data.Dataset)):
        return
    number: Any = tf.data.experimental.cardinality(result)
    config = tf.compat.v1.ConfigProto(device_count={"GPU": 0})
    with tf.compat.v1.Session(config=config) as session:
        if int(session.run(number)) == tf.data.INFINITE_CARDINALITY:
            raise SourceError(
                f"{fast.function.place}: the evaluation never ends: steps=None, and the input_fn"
                f" {fast.function.name} yields its data without an end. Give steps=N to EvalSpec or"
                " evaluate(), or leave repeat() out where mode is 'eval'."
            )
