"""Which row it was: a pipeline that fails without saying so is looked through for it."""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.errors import EstimatorIOError, OptionError, SourceError
from estimator_io.ops.guard import guarded
from estimator_io.pipeline.located import located_rows
from estimator_io.pipeline.options import Options
from estimator_io.plan.calls import Call, Plan
from estimator_io.plan.parallel import tf_options
from estimator_io.sources.base import Order, Source
from estimator_io.sources.skipped import spell_place

__all__ = ["GUARD", "is_silent", "naming_faults"]

# The stage whose calls a printed program leaves out: it has TensorFlow's own errors.
GUARD = "name faults"
THREADS = 2


def naming_faults(source: Source, options: Options, request: Any) -> list[Call]:
    """Returns the call that names the row where the pipeline fails, if it needs one."""
    if options.skips or not is_silent(source, options):
        return []
    if options.cache is not None or (options.service is not None and request.training):
        return []  # the workers of a service fail on their own
    eager = tf.executing_eagerly()
    explain = functools.partial(_raise_fault, source, options, request.shard, eager)
    return [Call(GUARD, "apply", (functools.partial(guarded, explain=explain),))]


def is_silent(source: Source, options: Options) -> bool:
    """Whether reading or parsing a row may fail with an error that does not say which row."""
    return not source.names_faults or source.decode is not None or _parse(options) is not None


def _parse(options: Options) -> Callable[..., Any] | None:
    """Returns the parse function, unless it runs in worker processes, whose errors name the row."""
    return None if options.processes_of("parse") else options.parse


def _raise_fault(source: Any, options: Options, shard: tuple[int, int], eager: bool) -> None:
    """Raises an error that names the first row that cannot be read; returns where none is found.

    Raises:
      SourceError: a part of the source is damaged, or decoding or parsing a row fails.
    """
    for part, told in getattr(source, "parts", [(source, options)]):
        _look_through(part, told, shard, eager)


def _look_through(source: Source, options: Options, shard: tuple[int, int], eager: bool) -> None:
    damage = source.first_damage()
    if damage is not None:
        raise SourceError(f"{damage}. {_HINT}")

    def stop(where: int, error: str, **_: Any) -> None:
        found.append(f"{spell_place(source.place(where))}: {error}")
        raise SourceError(found[0])

    found: list[str] = []
    order = Order(shuffle=False, epochs=1, seed=0, buffer_size=1, shard=shard)
    looking = dataclasses.replace(options, on_error="skip", key=None, cache=None)
    try:
        calls = located_rows(source, looking, order, [], parse=_parse(options), note=stop)
        pool = Call("options", "apply", (tf_options(THREADS, deterministic=True),))
        _read_all(lambda: Plan((*calls, pool)).build(), eager)
    except OptionError:
        return  # rows of this source cannot be told apart
    except (tf.errors.OpError, EstimatorIOError):
        if not found:
            return  # something else fails, whose own error shall be raised
    if found:
        raise SourceError(f"{found[0]}. {_HINT}")


_HINT = "Mend or remove it, or give on_error='skip' to leave out and list such rows."


def _read_all(build: Callable[[], Any], eager: bool) -> None:
    if eager:
        with tf.init_scope():
            for _ in build().map(lambda *_: 0).batch(1024):
                pass
        return
    v1: Any = tf.compat.v1
    with tf.Graph().as_default():
        count = build().map(lambda *_: 0).reduce(0, lambda n, _: n + 1)
        # The threads of other sessions may all be waiting for this one.
        config = v1.ConfigProto(device_count={"GPU": 0}, use_per_session_threads=True)
        with v1.Session(config=config) as session:
            session.run([v1.global_variables_initializer(), v1.tables_initializer()])
            session.run(count)
