"""Which row it was: a source is looked through for the first one that cannot be read."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import tensorflow as tf

from estimator_io.errors import SourceError
from estimator_io.ops.attempt import plain_text
from estimator_io.pipeline.located import located_rows
from estimator_io.pipeline.options import Options
from estimator_io.pipeline.stages import row_maker
from estimator_io.plan.calls import Call, Plan
from estimator_io.plan.parallel import tf_options
from estimator_io.sources.base import Order, Source
from estimator_io.sources.skipped import spell_place

__all__ = ["first_fault"]

THREADS = 2


def first_fault(source: Any, options: Options, shard: tuple[int, int] = (0, 1)) -> str | None:
    """Returns which row cannot be read, decoded or parsed, and why; None where all can.

    The source is looked through in the order of its files, up to the first bad row.

    Args:
      source: of the rows; a mixture is looked through part by part.
      options: of the pipeline; the stages up to parse count.
      shard: the part of the rows to look through.

    Raises:
      OptionError: rows of this source cannot be told apart.
    """
    parts = getattr(source, "parts", [(source, options)])
    found = (_look_through(part, told, shard) for part, told in parts)
    return next((fault for fault in found if fault is not None), None)


def _look_through(source: Source, options: Options, shard: tuple[int, int]) -> str | None:
    damage = source.first_damage()
    if damage is not None:
        return damage

    def stop(where: int, error: str, **_: Any) -> None:
        found.append(f"{spell_place(source.place(where))}: {error}")
        raise SourceError(found[0])

    found: list[str] = []
    order = Order(shuffle=False, epochs=1, seed=0, buffer_size=1, shard=shard)
    looking = dataclasses.replace(options, on_error="skip", key=None, cache=None, service=None)
    plain = dataclasses.replace(looking, on_error="raise")
    parse = row_maker(source, plain) or options.parse
    calls = located_rows(source, looking, order, [], parse=parse, note=stop)
    pool = Call("options", "apply", (tf_options(THREADS, deterministic=True),))
    try:
        _read_all(lambda: Plan((*calls, pool)).build(), tf.executing_eagerly())
    except (tf.errors.OpError, SourceError) as error:
        return found[0] if found else plain_text(error)
    return None


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
