"""The variants read the same recordings, and make the same features of them."""

from __future__ import annotations

import contextlib
import os
import time
import wave

import numpy as np
import pytest
import tensorflow as tf

from estimator_io.demo import readers
from estimator_io.demo.data import find_recordings
from estimator_io.demo.features import FLOOR, FRAME, HOP, log_spectrogram
from estimator_io.demo.fixed_step import wait
from estimator_io.demo.variants import library_input_fn, script_input_fn

from ..conftest import SPOKEN


def samples_by_hand(path, length):
    with wave.open(os.fspath(path)) as file:
        samples = np.frombuffer(file.readframes(file.getnframes()), "<i2") / 32768
    return np.pad(samples[:length], (0, max(0, length - len(samples)))).astype(np.float32)


@pytest.mark.parametrize(
    "reader",
    [
        readers.read_with_tensorflow,
        readers._in_python(readers._read_with_soundfile),
        readers._in_python(readers._read_with_scipy),
    ],
    ids=["tensorflow", "soundfile", "scipy"],
)
@pytest.mark.parametrize("length", [2000, 12000])
def test_every_reader_gives_the_samples_cut_or_padded(reader, length):
    if reader is not readers.read_with_tensorflow:
        pytest.importorskip("soundfile")
        pytest.importorskip("scipy")
    path = sorted((SPOKEN / "it").glob("*.wav"))[3]
    rows = tf.data.Dataset.from_tensors(os.fspath(path)).map(lambda name: reader(name, length))
    (samples,) = rows.as_numpy_iterator()
    np.testing.assert_allclose(samples, samples_by_hand(path, length), atol=1e-7)


def test_a_spectrogram_is_that_of_the_discrete_fourier_transform():
    audio = np.random.default_rng(0).normal(size=FRAME + 2 * HOP).astype(np.float32)
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(FRAME) / FRAME)
    frames = np.stack([audio[at : at + FRAME] for at in (0, HOP, 2 * HOP)])
    expected = np.log(np.abs(np.fft.rfft(frames * window)) + FLOOR)
    np.testing.assert_allclose(log_spectrogram(audio), expected, atol=1e-3)


def test_the_script_and_the_library_evaluate_the_same_recordings(tones, draw):
    recordings = find_recordings(os.fspath(tones / "*" / "*.wav"))

    def script():
        # In a graph the script returns tensors; one epoch of them is a Dataset again.
        reader = readers.read_with_tensorflow
        return script_input_fn(recordings, "validation", reader=reader, batch_size=3)()

    library = library_input_fn(recordings, "validation", batch_size=3)
    expected = sorted(
        (int(label), float(row.sum()))
        for features, labels in draw(lambda: library.dataset("eval"))
        for label, row in zip(labels, features["spectrogram"], strict=True)
    )
    found = []
    with tf.Graph().as_default(), tf.compat.v1.Session() as session:
        batch = script()
        with contextlib.suppress(tf.errors.OutOfRangeError):
            while True:
                features, labels = session.run(batch)
                pairs = zip(labels, features["spectrogram"], strict=True)
                found += [(int(label), float(row.sum())) for label, row in pairs]
    assert [label for label, _ in sorted(found)] == [label for label, _ in expected]
    np.testing.assert_allclose([s for _, s in sorted(found)], [s for _, s in expected], rtol=1e-3)
    assert len(expected) == len(recordings.validation)


def test_the_parts_of_the_split_share_no_recording():
    recordings = find_recordings(os.fspath(SPOKEN / "*" / "*.wav"))
    assert not set(recordings.train) & set(recordings.validation)
    assert len(recordings.train) + len(recordings.validation) == 590
    assert recordings.languages == ("en", "es", "fr", "it", "ru")
    assert recordings.labels(recordings.train[:1]) == [0]


def test_a_step_of_fixed_length_is_no_shorter_than_that():
    waiting = tf.function(lambda: wait(0.05, after=[tf.constant(0)]))
    waiting()
    began = time.perf_counter()
    assert waiting().numpy() == 0
    assert time.perf_counter() - began >= 0.05


def test_the_reader_in_python_falls_back_to_scipy_and_then_says_what_to_install(monkeypatch):
    installed = {"scipy"}
    monkeypatch.setattr(readers.importlib.util, "find_spec", lambda name: name in installed)
    assert readers.python_reader()[0] == "scipy"
    installed.clear()
    with pytest.raises(readers.CompatibilityError, match=r"pip install 'estimator-io\[demo\]'"):
        readers.python_reader()
