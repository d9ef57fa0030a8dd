"""The picture, and the trace that it is drawn from."""

from __future__ import annotations

import numpy as np
import pytest
import tensorflow as tf

from estimator_io.demo import timeline
from estimator_io.demo.features import log_spectrogram
from estimator_io.demo.measurement import Measurement, Steps
from estimator_io.demo.runner import Result
from estimator_io.demo.step_clock import StepClock
from estimator_io.demo.trace import Activity, Tracer


def test_spans_that_touch_or_nearly_touch_are_drawn_as_one():
    spans = np.array([[0.0, 1.0], [0.5, 0.8], [1.05, 2.0], [3.0, 4.0]])
    np.testing.assert_array_equal(timeline.merge_spans(spans, 0.1), [[0, 2], [3, 4]])
    np.testing.assert_array_equal(timeline.merge_spans(spans, 0.0), [[0, 1], [1.05, 2], [3, 4]])


def test_no_spans_are_no_spans():
    assert timeline.merge_spans(np.zeros((0, 2)), 1.0).shape == (0, 2)


def result(scenario, variant):
    begins = np.arange(10.0)
    steps = Steps(begins, begins + 0.2, begins + 0.9, np.full(10, 8))
    spans = np.stack([begins, begins + 0.5], 1)
    run = Measurement(scenario, variant, "TensorFlow", 9.0, steps, (1, 5), 80, 8, None)
    return Result(run, steps.part(5, 9), Activity(read=spans, spectrogram=spans))


def test_the_picture_is_a_png_with_a_panel_for_each_run(tmp_path):
    pytest.importorskip("matplotlib")
    results = [result(s, v) for s in ("fixed", "own") for v in ("before", "after")]
    timeline.draw_timeline(results, {"fixed": "Fixed", "own": "Own"}, tmp_path / "a.png")
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


def test_the_trace_tells_reading_from_spectrograms_within_the_traced_steps(write_wav):
    path = write_wav("a.wav", np.zeros(2000, np.int16))

    def read(name):
        audio, _ = tf.audio.decode_wav(tf.io.read_file(name), desired_samples=2000)
        return log_spectrogram(audio[:, 0])

    rows = iter(tf.data.Dataset.from_tensor_slices([path] * 400).map(read).batch(40))
    with Tracer(2, 5) as tracer:
        clock = StepClock([tracer])
        for _ in range(8):
            clock.begin()
            next(rows)
            clock.end(arrival=0.0, rows=1)
        activity = tracer.activity()
    begin, end = clock.begins[2], clock.ends[4]
    for spans in (activity.read, activity.spectrogram):
        assert len(spans) > 0
        assert (spans[:, 0] <= spans[:, 1]).all()
        # Both clocks are the system's, read a few microseconds apart.
        assert begin - 0.05 < spans.min()
        assert spans.max() < end + 0.05
    assert tracer.seconds > 0


def test_a_tracer_that_is_left_early_stops_the_profiler():
    with Tracer(0, 9) as tracer:
        tracer.before_step(0)
    with Tracer(0, 1) as tracer:  # a second profiler would not start beside a running one
        tracer.before_step(0)
        tracer.after_step(0)
