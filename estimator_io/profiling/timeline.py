"""What the workers did while a step ran: the functions of maps note when they begin and end.

The notes are TensorFlow's own operations (a timestamp, and a queue that they go into), so no Python
is called, and a map that waits or computes is seen as it is. TensorFlow's profiler would show more,
but there is one for a whole process, and it may be in use.
"""

from __future__ import annotations

import dataclasses
import time
from typing import Any

import tensorflow as tf

from estimator_io.profiling.chain import Chain, Step
from estimator_io.profiling.eagerly import eager_mode
from estimator_io.profiling.flow import run_flow
from estimator_io.profiling.model import calls_at_once
from estimator_io.profiling.report import Span, Timeline

__all__ = ["timeline_of"]

MOST_NOTES = 200_000
MOST_SPANS = 4_000
SHOWN_STEPS = 24
LEAST_BATCHES = 4


def timeline_of(chain: Chain, step_seconds: float, seconds: float) -> Timeline | None:
    """Returns what ran when, at the end of a run of `seconds`; None where no two batches came.

    Args:
      chain: the pipeline.
      step_seconds: the length of the step, which uses no processor.
      seconds: of the run.
    """
    with eager_mode():
        queue = tf.queue.FIFOQueue(
            MOST_NOTES, [tf.int64, tf.float64, tf.float64], shapes=[[], [], []]
        )
        noted = dataclasses.replace(
            chain,
            steps=tuple(_noting(step, at, chain, queue) for at, step in enumerate(chain.steps)),
        )
        zero = time.time()
        try:
            flow = run_flow(noted, seconds, step_seconds, LEAST_BATCHES)
            number = int(queue.size())
            notes = queue.dequeue_many(number) if number else None
        except Exception:  # a function that cannot be wrapped; the rest of the report stands
            return None
        finally:
            queue.close(cancel_pending_enqueues=True)
    if len(flow.waits) < 2:
        return None
    spans = []
    if notes is not None:
        which, begins, ends = (part.numpy() for part in notes)
        for at, begin, end in zip(which, begins, ends, strict=True):
            spans.append(Span(chain.steps[int(at)].stage, float(begin - zero), float(end - zero)))
    return _last(spans, flow.waits, step_seconds)


def _last(
    spans: list[Span], waits: tuple[tuple[float, float], ...], step_seconds: float
) -> Timeline:
    """Returns the last steps alone, from a zero of their own."""
    shown = waits[-SHOWN_STEPS:]
    start, end = shown[0][0], shown[-1][1]
    inside = [
        Span(span.lane, span.begin - start, span.end - start)
        for span in spans
        if span.end > start and span.begin < end
    ][:MOST_SPANS]
    return Timeline(
        end - start,
        step_seconds,
        tuple(inside),
        tuple((begin - start, until - start) for begin, until in shown),
    )


def _noting(step: Step, at: int, chain: Chain, queue: Any) -> Step:
    """Returns a map whose function notes its begin and end."""
    function = step.function
    if step.kind != "map" or function is None:
        return step
    calls = calls_at_once(step, chain)

    def noting(*element: Any) -> Any:
        begin = tf.timestamp()
        with tf.control_dependencies([begin]):
            flat = function(*tf.nest.flatten(element, expand_composites=True))
        leaves = tf.nest.flatten(flat, expand_composites=True)
        with tf.control_dependencies([leaf for leaf in leaves if tf.is_tensor(leaf)]):
            end = tf.timestamp()
        with tf.control_dependencies([queue.enqueue((tf.constant(at, tf.int64), begin, end))]):
            return tf.nest.map_structure(tf.identity, flat, expand_composites=True)

    def apply(before: Any) -> Any:
        return before.map(noting, num_parallel_calls=calls)

    return dataclasses.replace(step, apply=apply)
